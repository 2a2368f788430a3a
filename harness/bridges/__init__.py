"""Bridges to other evaluation frameworks; each needs its own package, and is imported only by name."""
