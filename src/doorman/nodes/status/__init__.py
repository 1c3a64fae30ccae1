"""What a simulated kubelet says of its node: heartbeat, conditions, health by the clock."""
