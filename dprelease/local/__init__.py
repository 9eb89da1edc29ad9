"""The local model: tables in which every record was perturbed on its own."""
