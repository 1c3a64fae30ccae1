"""The functions that CEL expressions may call, a library a file."""
