"""Bodies to documents and documents to bodies."""
