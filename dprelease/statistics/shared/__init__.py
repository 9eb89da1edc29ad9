"""Common parts of several statistics."""
