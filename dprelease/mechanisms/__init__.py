"""Mechanisms: how much noise a loss asks for, and what loss a noise means."""
