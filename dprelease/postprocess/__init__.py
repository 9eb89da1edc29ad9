"""Post-processing of noisy integers: figures with their intervals, and their finishing."""
