"""Decides whether two queries mean the same. Pure: no network, no files, no database, no clock of its own."""
