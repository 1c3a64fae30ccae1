"""What is followed while a plan is made: pods, workloads, budgets, zones, nodes, and what components have to tell."""
