"""Released tables, read from a directory of a release and nothing else."""
