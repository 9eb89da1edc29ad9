"""Thresholds that select private keys."""
