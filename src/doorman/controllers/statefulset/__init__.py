"""The StatefulSet controller."""
