"""Noise intervals of estimates."""
