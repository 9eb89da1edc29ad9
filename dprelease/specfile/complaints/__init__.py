"""The vocabulary of complaints about a spec: their wording, their places, and who gathers them."""
