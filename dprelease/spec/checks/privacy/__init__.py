"""Checks of units, budgets and accuracy targets."""
