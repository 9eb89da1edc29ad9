"""An independent proof of what several releases lose together."""
