"""A scheduler extender in one file: the nodes it is told of have one GPU each, and whoever asks first gets it.

python one_gpu_a_node.py --port 8888 node-2
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Gpus:
    """Which pod has the GPU of which node; a pod keeps what it was given."""

    def __init__(self, nodes: list[str]) -> None:
        self._holders: dict[str, str] = dict.fromkeys(nodes, "")

    def filter(self, pod: str, nodes: list[str]) -> dict[str, Any]:
        """An ExtenderFilterResult, as `nodeCacheCapable` extenders give it: names only."""
        mine = [node for node in nodes if self._holders.get(node) == pod]
        free = [node for node in nodes if self._holders.get(node) == ""]
        kept = mine or free[:1]
        for node in kept:
            self._holders[node] = pod
        return {"NodeNames": kept, "FailedNodes": {node: "no gpu left" for node in nodes if node not in kept}}


def handler(gpus: Gpus) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = gpus.filter(asked["Pod"]["metadata"]["uid"], asked["NodeNames"])
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """The scheduler's log says what matters."""

    return Handler


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8888)
    parser.add_argument("nodes", nargs="+")
    given = parser.parse_args()
    server = HTTPServer(("127.0.0.1", given.port), handler(Gpus(given.nodes)))
    print(f"serving http://127.0.0.1:{given.port}/scheduler", flush=True)
    server.serve_forever()
