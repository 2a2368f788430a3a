"""Runs one read on a fixture behind locked doors, and compares results."""
