"""Where an API server is and how to show who one is, from a kubeconfig. Its reading is lightkube's work."""

import asyncio
import base64
import os
import ssl
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

import msgspec
from lightkube.config.client_adapter import async_check_output, verify_cluster
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User, UserExec

from doorman.base.clock import Clock
from doorman.base.errors import ApiError
from doorman.client.command_line.http_client import chosen_config
from doorman.client.command_line.unreachable import Unreachable

TOKEN_FILE_SECONDS: Final = 60.0
"""A token file is read again so often: whoever wrote it replaces it before it expires."""


class RequestCredentials(Protocol):
    async def authorization(self) -> str:
        """The Authorization header; empty: none."""
        ...

    def refused(self) -> None:
        """It was answered 401: what is remembered is forgotten."""
        ...


class FixedCredentials:
    def __init__(self, header: str = "") -> None:
        self._header = header

    async def authorization(self) -> str:
        return self._header

    def refused(self) -> None:
        """There are no others."""


class TokenFileCredentials:
    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._header = ""
        self._read_at = 0.0

    async def authorization(self) -> str:
        now = self._clock.now()
        if not self._header or now - self._read_at > TOKEN_FILE_SECONDS:
            try:
                token = await asyncio.to_thread(self._file.read_text)
            except OSError as error:
                raise ApiError(401, "Unauthorized", f"the token file {self._file}: {error.strerror}") from error
            self._header, self._read_at = f"Bearer {token.strip()}", now
        return self._header

    def refused(self) -> None:
        self._header = ""


class ExecCredentials:
    """Of a plugin, a program that prints a token."""

    def __init__(self, plugin: UserExec) -> None:
        self._plugin = plugin
        self._header = ""
        self._lock = asyncio.Lock()

    async def authorization(self) -> str:
        async with self._lock:
            if not self._header:
                self._header = f"Bearer {await self._token()}"
            return self._header

    def refused(self) -> None:
        self._header = ""

    async def _token(self) -> str:
        plugin = self._plugin
        environment = {**os.environ, **{one.name: one.value for one in plugin.env or ()}}
        about = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
        environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(about).decode()
        try:
            output = await async_check_output([plugin.command, *(plugin.args or ())], env=environment)
            return str(msgspec.json.decode(output)["status"]["token"])
        except Exception as error:  # whatever a program of somebody else's does
            raise ApiError(401, "Unauthorized", f"the plugin {plugin.command} gave no token: {error}") from error


class ServerAccess(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    host: str
    port: int
    prefix: str
    """What paths begin with, for a server behind a proxy."""
    tls: ssl.SSLContext | None
    server_name: str
    credentials: RequestCredentials


def server_access(kubeconfig: Path | None, clock: Clock, context: str = "", master: str = "") -> ServerAccess:
    """Raises `Unreachable` when the kubeconfig cannot be used. None: that of a pod in a cluster."""
    config = chosen_config(kubeconfig, context)
    url = master or config.cluster.server
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unreachable(f"the server {url!r} is no URL", "it looks like https://HOST:PORT")
    try:
        tls = _tls(config) if parts.scheme == "https" else None
    except (OSError, ValueError) as error:
        raise Unreachable(
            f"the certificates of {kubeconfig} cannot be used: {error}", "are the files there, and readable?"
        ) from error
    return ServerAccess(
        url=url,
        host=parts.hostname,
        port=parts.port or (443 if tls is not None else 80),
        prefix=parts.path.rstrip("/"),
        tls=tls,
        server_name=getattr(config.cluster, "tls_server_name", None) or parts.hostname,
        credentials=credentials_of(config, clock),
    )


def _tls(config: SingleConfig) -> ssl.SSLContext:
    context = verify_cluster(config.cluster, config.user or User(), config.abs_file, trust_env=False)
    if config.cluster.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def credentials_of(config: SingleConfig, clock: Clock) -> RequestCredentials:
    user = config.user
    if user is None:
        return FixedCredentials()
    if user.token_file:
        return TokenFileCredentials(Path(config.abs_file(user.token_file)), clock)
    if user.token:
        return FixedCredentials(f"Bearer {user.token}")
    if user.exec:
        return ExecCredentials(user.exec)
    if user.username and user.password:
        word = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return FixedCredentials(f"Basic {word}")
    return FixedCredentials()
