"""From text to tree: the grammar of CEL."""
