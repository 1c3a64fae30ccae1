"""Why a webhook gave no answer, in the words Go's client has for it: users look for those words."""

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from doorman.base.go_format import quote

BODY_CHARS_MAX: Final = 500
_REFUSALS: Final = {
    errno.ECONNREFUSED: "connect: connection refused",
    errno.EHOSTUNREACH: "connect: no route to host",
    errno.ENETUNREACH: "connect: network is unreachable",
    errno.ECONNRESET: "read: connection reset by peer",
}
_UNTRUSTED: Final = "x509: certificate signed by unknown authority"
_CERTIFICATE_FAULTS: Final = {
    9: "x509: certificate has expired or is not yet valid",
    10: "x509: certificate has expired or is not yet valid",
    18: _UNTRUSTED,
    19: _UNTRUSTED,
    20: _UNTRUSTED,
    21: _UNTRUSTED,
}
"""By OpenSSL's numbers."""
_HOST_MISMATCHES: Final = (62, 64)
_STATUSES: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    415: "the body of the request was in an unknown format - accepted media types include: ",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class WebhookRefused(Exception):
    """The webhook answered with a status that is no success."""


def connection_fault(error: BaseException, url: str, server_name: str = "") -> str:
    """What went wrong on the way to `url`. `server_name`: whose certificate is expected there, if not the host's."""
    parts = urlsplit(url)
    host, place = parts.hostname or "", f"{parts.hostname}:{parts.port or 443}"
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"tls: failed to verify certificate: {_certificate_fault(cause, server_name or host)}"
        if isinstance(cause, socket.gaierror):
            return f"dial tcp: lookup {host}: no such host"
        if isinstance(cause, OSError) and cause.errno in _REFUSALS:
            return f"dial tcp {place}: {_REFUSALS[cause.errno]}"
    return str(error)


def status_fault(status: int, body: bytes) -> str:
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        said = body.decode(errors="replace").strip()[:BODY_CHARS_MAX] or "unknown"
        return f"an error on the server ({quote(said)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


def _certificate_fault(error: ssl.SSLCertVerificationError, name: str) -> str:
    if error.verify_code in _HOST_MISMATCHES:
        return f"x509: certificate is not valid for {name}"
    return _CERTIFICATE_FAULTS.get(error.verify_code, f"x509: {error.verify_message}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what led to it, and so on; a group leads through the first of its members."""
    found: BaseException | None = error
    while found is not None:
        yield found
        if isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        else:
            found = found.__cause__ or found.__context__
