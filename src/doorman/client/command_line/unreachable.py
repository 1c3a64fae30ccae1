"""The error of a command line that finds no server to talk to."""


class Unreachable(Exception):
    """No server to talk to, or no kubeconfig to find it with."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
