"""What is done to noisy figures before they are published: free, deterministic, without data."""
