"""What everything stands on: clock, instants, errors, names, feature gates. Knows no Kubernetes kind."""
