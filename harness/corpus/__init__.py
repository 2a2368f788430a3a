"""Golden files and vocabulary configs: read, validated, every problem named."""
