"""The one way from exact to noisy."""
