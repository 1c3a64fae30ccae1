"""Why a webhook gave no answer."""

import errno
import socket
import ssl

import pytest

from doorman.client.webhooks.webhook_errors import connection_fault, status_fault

URL = "https://hook.example.com/admit"


def caused(cause: BaseException) -> Exception:
    """As HTTP clients wrap it."""
    try:
        try:
            raise cause
        except BaseException as error:
            raise OSError("All connection attempts failed") from error
    except OSError as error:
        return error


def certificate_error(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, "in OpenSSL's words"
    return error


@pytest.mark.parametrize(
    ("error", "url", "words"),
    [
        pytest.param(
            caused(ConnectionRefusedError(errno.ECONNREFUSED, "no")),
            "https://127.0.0.1:9/x",
            "dial tcp 127.0.0.1:9: connect: connection refused",
            id="refused",
        ),
        pytest.param(
            caused(ExceptionGroup("two addresses", [OSError(errno.EHOSTUNREACH, "no"), OSError("other")])),
            URL,
            "dial tcp hook.example.com:443: connect: no route to host",
            id="first-of-a-group",
        ),
        pytest.param(
            caused(socket.gaierror(-2, "no")), URL, "dial tcp: lookup hook.example.com: no such host", id="no-host"
        ),
        pytest.param(
            caused(certificate_error(20)),
            URL,
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            id="untrusted",
        ),
        pytest.param(
            certificate_error(10),
            URL,
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
            id="expired",
        ),
        pytest.param(
            certificate_error(62),
            URL,
            "tls: failed to verify certificate: x509: certificate is not valid for hook.example.com",
            id="another-host",
        ),
        pytest.param(
            certificate_error(26),
            URL,
            "tls: failed to verify certificate: x509: in OpenSSL's words",
            id="something-else",
        ),
        pytest.param(ValueError("too long"), URL, "too long", id="ours"),
    ],
)
def test_connection_fault(error: Exception, url: str, words: str) -> None:
    assert connection_fault(error, url) == words


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"", "the server could not find the requested resource"),
        (500, b"oops\n", 'an error on the server ("oops") has prevented the request from succeeding'),
        (502, b"", 'an error on the server ("unknown") has prevented the request from succeeding'),
        (503, b"x", "the server is currently unable to handle the request"),
        (302, b"", "the server responded with the status code 302 but did not return more information"),
    ],
)
def test_status_fault(status: int, body: bytes, words: str) -> None:
    assert status_fault(status, body) == words
