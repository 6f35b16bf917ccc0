"""Records the calls of an interpreter and their arrays in one file, from which `replay` makes them again."""
