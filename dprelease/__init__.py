"""dprelease."""
