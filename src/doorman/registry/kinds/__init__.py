"""What single kinds do when they are written."""
