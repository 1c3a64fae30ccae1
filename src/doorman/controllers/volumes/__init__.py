"""Controllers of volumes: what is in use is not deleted."""
