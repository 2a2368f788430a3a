"""What is being scored: targets that turn a sentence into an answer."""
