"""Record-level tables in a report: facts, words, and the section with its charts."""
