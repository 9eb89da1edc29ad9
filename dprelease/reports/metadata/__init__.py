"""Descriptions of a release for catalogues and registries."""
