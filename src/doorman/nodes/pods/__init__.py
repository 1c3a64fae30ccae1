"""What a simulated kubelet does with pods: admits, runs, reports, evicts."""
