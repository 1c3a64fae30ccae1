"""One scheduling cycle: bound plugins, their answers for every node, the choice."""
