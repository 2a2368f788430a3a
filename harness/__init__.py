"""Everything of rung that talks to a model, a database, a file or a person."""
