"""What goes beyond counts and sums, a folder for each matter. Each imports the core."""
