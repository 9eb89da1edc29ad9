"""What several statistics have in common."""
