"""Commands that ask before anything is done: snapshots, plans, failover times."""
