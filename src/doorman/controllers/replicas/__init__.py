"""Controllers that keep so many pods: ReplicaSets and ReplicationControllers."""
