"""Views of who may do what, and how much of it at once: roles, certificates, priority levels."""
