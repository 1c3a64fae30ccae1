"""What proves etcd's members to this server, and this server to them."""

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path

import msgspec


class EtcdTls(msgspec.Struct, frozen=True):
    """Files in PEM."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def context(self) -> ssl.SSLContext:
        """As the files are now. Raises OSError that names the file."""
        for file in filter(None, (self.ca_file, self.cert_file, self.key_file)):
            file.read_bytes()
        context = ssl.create_default_context()
        if self.ca_file is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            with _naming(self.ca_file):
                context.load_verify_locations(self.ca_file)
        if self.cert_file is not None:
            with _naming(self.cert_file):
                context.load_cert_chain(self.cert_file, self.key_file)
        return context


@contextlib.contextmanager
def _naming(file: Path) -> Iterator[None]:
    """An error says which file it is about."""
    try:
        yield
    except ssl.SSLError as error:
        raise OSError(error.errno, f"not what it should be ({error.reason})", str(file)) from error
