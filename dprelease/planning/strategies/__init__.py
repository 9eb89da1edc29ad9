"""Strategies: figures that are planned together, where that errs less."""
