"""What components have when they run in the API server's process: clients, informers, leases, and what they explain."""
