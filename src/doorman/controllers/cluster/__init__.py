"""Controllers of what a cluster as a whole has: namespaces, owners, quotas, budgets, custom kinds."""
