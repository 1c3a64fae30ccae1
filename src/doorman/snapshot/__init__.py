"""Snapshots: a cluster as it was at an instant, in a file, read from any cluster and taken up again."""
