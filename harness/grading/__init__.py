"""Places an answer on the ladder."""
