"""The server's side of TLS."""

import ssl
from pathlib import Path
from typing import Final

from doorman.front.tls_handshake import leave_verification_to_requests

CERTIFICATE: Final = "server.crt"
KEY: Final = "server.key"
AUTHORITY: Final = "ca.crt"


def tls_context(folder: Path) -> ssl.SSLContext:
    """From the files of these names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    context.load_verify_locations(folder / AUTHORITY)
    context.verify_mode = ssl.CERT_OPTIONAL
    # Who a connection belongs to is read once, when it is made.
    context.options |= ssl.OP_NO_RENEGOTIATION
    leave_verification_to_requests(context)
    return context
