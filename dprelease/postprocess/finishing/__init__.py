"""Finishing of noisy figures: make them agree or nonnegative, round them, hide them."""
