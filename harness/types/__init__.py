"""The frozen data types that pass from one step of a run to the next."""
