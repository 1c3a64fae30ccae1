"""The rules, as pure functions over values: matching, eviction instants, taint lists, names. No I/O, no clock."""
