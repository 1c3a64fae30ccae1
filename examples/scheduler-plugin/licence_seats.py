"""A scheduler plugin: nodes have a number of licence seats, and some pods need one.

A node says how many seats it has with the label `example.com/licence-seats`; a pod needs one when it has the annotation
`example.com/needs-licence`. Pods that need none are let in everywhere, and rather to nodes without seats.
"""

SEATS = "example.com/licence-seats"
NEEDS = "example.com/needs-licence"


class LicenceSeats:
    name = "LicenceSeats"

    def __init__(self, reserve=0):
        self._reserve = reserve

    def signature(self, pod):
        return NEEDS in pod.metadata.annotations

    def filter(self, pod, node):
        if NEEDS not in pod.metadata.annotations:
            return None
        taken = sum(NEEDS in other.metadata.annotations for other in node.pods)
        return None if taken + self._reserve < seats(node) else "node(s) had no free licence seat"

    def score(self, pod, node):
        if NEEDS in pod.metadata.annotations:
            return 0
        return 0 if seats(node) else 100


def seats(node):
    return int(node.node.metadata.labels.get(SEATS, "0"))


def make(args):
    """What the entry point names: arguments in, plugin out."""
    return LicenceSeats(reserve=args.get("reserve", 0))
