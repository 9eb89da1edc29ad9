"""Noisy figures made to agree, to be 0 or more, rounded or hidden."""
