"""What people read of a comparison of runs: terminal, Markdown, HTML, JSON."""
