"""What a simulated kubelet says of its node: heartbeat, conditions, shutdown, and the annotations that steer it."""
