"""Estimates from perturbed records, with intervals around them."""
