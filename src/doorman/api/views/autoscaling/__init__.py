"""Views of what scales workloads."""
