"""What noisy counts and sums rest on. Imports the model and itself only."""
