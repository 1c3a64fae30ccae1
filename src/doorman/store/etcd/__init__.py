"""A store that is an etcd cluster: Kubernetes' own keys and values, shared with whoever else serves it."""
