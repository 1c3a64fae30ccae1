"""Plans and failover times for people to read."""
