"""Controllers of services: endpoints, slices of them, addresses."""
