"""Sentences of the report, made of its facts."""
