"""What proves etcd's members to this server, and this server to them."""

from pathlib import Path

import msgspec


class EtcdTls(msgspec.Struct, frozen=True):
    """Files in PEM."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def read(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Authority, key and certificate. Raises OSError."""
        ca, key, cert = (
            file.read_bytes() if file is not None else None for file in (self.ca_file, self.key_file, self.cert_file)
        )
        return ca, key, cert
