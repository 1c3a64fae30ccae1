"""TLS that asks a client for its certificate and leaves its verification to authentication, as Go's server does.

Kubernetes takes every certificate in the handshake, and answers 401 to a request whose certificate is worth nothing.
Python's `ssl` has no such mode: a certificate is either not asked for or verified, and one that fails ends the
connection before anything can be said. OpenSSL itself has the mode, a callback in the place of its verification. It
is set here through the OpenSSL that `_ssl` is linked with, on the `SSL_CTX` that CPython keeps as the first field of
an `SSLContext`. That the field is where it is thought to be is proved before it is used; where it is not (another
interpreter, another build) nothing is changed, and certificates of others end the handshake as Python has it.

What this gives up, `server/auth/client_certificates.py` does: nothing a client shows is believed because a connection
exists. The one thing a handshake still proves is that the client holds the key of the certificate it shows.
"""

import ctypes
import logging
import ssl
import sys
from typing import Any, Final

_ACCEPTED: Final = 1
_VERIFY_MODES: Final = {ssl.CERT_NONE: 0, ssl.CERT_OPTIONAL: 1, ssl.CERT_REQUIRED: 3}
"""OpenSSL's numbers for them."""
_ELSEWHERE: Final = "an SSLContext is not laid out as expected"
_DER: Final = 2
"""`_ssl.ENCODING_DER`."""

_log: Final = logging.getLogger("doorman.front")

_Callback: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_accept: Final = _Callback(lambda _store_context, _argument: _ACCEPTED)
"""Lives as long as the module: OpenSSL keeps only its address."""


def leave_verification_to_requests(context: ssl.SSLContext) -> bool:
    """From now on `context`, which asks for certificates, takes any. False: it could not be done, nothing changed."""
    assert context.verify_mode is ssl.CERT_OPTIONAL, "a certificate is asked for, and not insisted on"
    try:
        library = _library()
        _prove(library)
        address = _address(context)
        if not _agrees(library, address, context):
            raise LookupError(_ELSEWHERE)
        library.SSL_CTX_set_cert_verify_callback(address, _accept, None)
    except (AttributeError, ImportError, LookupError, OSError) as error:
        _log.warning("client certificates of other authorities end the handshake instead of being a 401: %s", error)
        return False
    return True


def shown_by(tls: Any) -> tuple[list[bytes], bool]:  # an SSLObject, of whose methods one is public since 3.13 only
    """What a client showed when it connected, as DER, its own certificate first; and whether that is all that is known:
    a session was taken up again, and OpenSSL remembers whose it is, but not what else was sent.
    """
    leaf = tls.getpeercert(binary_form=True)
    if leaf is None:
        return [], False
    source = tls if hasattr(tls, "get_unverified_chain") else tls._sslobj
    chain = source.get_unverified_chain()
    if not chain:
        return [leaf], True
    others = [each if isinstance(each, bytes) else each.public_bytes(_DER) for each in chain]
    return [leaf, *(each for each in others if each != leaf)], False


def _library() -> ctypes.CDLL:
    if sys.implementation.name != "cpython":
        raise LookupError(f"{sys.implementation.name} is not CPython")
    import _ssl

    library = ctypes.CDLL(getattr(_ssl, "__file__", None))  # built in: the symbols are the process's own
    for name in ("SSL_CTX_get_options", "SSL_CTX_get_verify_mode", "SSL_CTX_set_cert_verify_callback"):
        getattr(library, name)
    library.SSL_CTX_get_options.argtypes = [ctypes.c_void_p]
    library.SSL_CTX_get_options.restype = ctypes.c_uint64
    library.SSL_CTX_get_verify_mode.argtypes = [ctypes.c_void_p]
    library.SSL_CTX_get_verify_mode.restype = ctypes.c_int
    library.SSL_CTX_set_cert_verify_callback.argtypes = [ctypes.c_void_p, _Callback, ctypes.c_void_p]
    library.SSL_CTX_set_cert_verify_callback.restype = None
    return library


def _prove(library: ctypes.CDLL) -> None:
    """On a context of no consequence: whatever Python sets is read back through the address."""
    specimen = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    address = _address(specimen)
    for mode in _VERIFY_MODES:
        specimen.verify_mode = mode
        specimen.options ^= ssl.OP_CIPHER_SERVER_PREFERENCE
        if not _agrees(library, address, specimen):
            raise LookupError(_ELSEWHERE)


def _address(context: ssl.SSLContext) -> int:
    """Of the SSL_CTX: the first field behind the head that every object of this interpreter has."""
    address = ctypes.c_size_t.from_address(id(context) + object.__basicsize__).value
    if address == 0 or address % ctypes.alignment(ctypes.c_void_p):
        raise LookupError(_ELSEWHERE)
    return address


def _agrees(library: ctypes.CDLL, address: int, context: ssl.SSLContext) -> bool:
    options = int(context.options) & 0xFFFF_FFFF_FFFF_FFFF
    is_same: bool = library.SSL_CTX_get_options(address) == options
    return is_same and library.SSL_CTX_get_verify_mode(address) == _VERIFY_MODES[context.verify_mode]
