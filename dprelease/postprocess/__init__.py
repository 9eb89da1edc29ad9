"""What is done to noisy integers: figures with their intervals, and figures made fit to publish."""
