"""API priority and fairness: which requests go first, and how many of a kind are worked on at once."""
