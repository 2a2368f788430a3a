"""Runs side by side on the same cases: aligned, tested for noise, with every case that changed sides."""
