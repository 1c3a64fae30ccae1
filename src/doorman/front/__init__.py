"""The front: a process of its own that holds the clients' connections. TLS and HTTP are its work, so that the server,
which decides everything, has a processor to itself.

It imports nothing of the server's: it starts in the time of an interpreter and is small.
"""
