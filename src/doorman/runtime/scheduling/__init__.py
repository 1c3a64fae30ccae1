"""What carries out the scheduler's decisions, in process or over HTTP: bindings, claims, volumes, extenders."""
