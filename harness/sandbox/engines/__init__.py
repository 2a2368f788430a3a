"""The engines: each runs reads on one kind of database, inside the walls that the sandbox puts around it."""
