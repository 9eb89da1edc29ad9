"""Post-processing: everything here sees noisy integers and public facts only."""
