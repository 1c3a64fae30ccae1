"""What may be stored: pure functions from documents to field errors, and the defaults filled in before."""
