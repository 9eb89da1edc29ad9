"""Everything that a privacy reviewer must trust."""
