"""What the scheduler knows of nodes and pods, in columns."""
