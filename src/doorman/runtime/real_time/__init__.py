"""A server as a process: the front beside it, its store, its program, from the start to the last open watch."""
