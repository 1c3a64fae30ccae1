"""A scheduler extender for tests: answers what it is told to, and remembers what it was asked."""

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Answer = Callable[[dict[str, Any]], Any]  # from JSON to JSON
"""An int is a status to fail with."""


class FakeExtender:
    """`with FakeExtender(filter=lambda args: {...}) as extender: ...`"""

    def __init__(self, *, tls: ssl.SSLContext | None = None, **verbs: Answer) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """Verbs and arguments, in order."""
        self._verbs = verbs
        extender = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verb = self.path.rpartition("/")[2]
                extender.asked.append((verb, args))
                answer = extender._verbs[verb](args)
                status = answer if isinstance(answer, int) else 200
                body = b"" if isinstance(answer, int) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}/scheduler"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "FakeExtender":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
