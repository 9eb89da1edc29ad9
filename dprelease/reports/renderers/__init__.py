"""The renderers of a report: pages of one document, and entries for catalogues and registries."""
