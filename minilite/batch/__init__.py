"""Many items through one model: rows in batches, what a batch has to equal, models that take one."""
