"""Many draws at once, on arrays."""
