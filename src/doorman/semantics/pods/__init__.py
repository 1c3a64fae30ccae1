"""Rules about pods: what they ask for, refer to, select, count for."""
