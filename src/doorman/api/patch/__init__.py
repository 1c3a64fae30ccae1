"""Changes of documents: patches of every type, server-side apply, and who owns which field."""
