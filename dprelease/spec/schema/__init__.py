"""The keys of every section: what each takes, what it means, and the JSON Schema made of them."""
