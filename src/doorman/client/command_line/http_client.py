"""A client over HTTP for the command line. kubeconfig, certificates, tokens and exec plugins are lightkube's work."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from errno import ECONNREFUSED
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import httpx2
import msgspec
from lightkube.config.client_adapter import Client, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError
from yaml import YAMLError

from doorman.api.well_known import CLOCK_PATH
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.base.instants import from_time
from doorman.client.command_line.api_client import error_of
from doorman.client.command_line.connection_options import USUAL_CONNECTION, ConnectionOptions
from doorman.client.command_line.kubeconfig_list import files_of, merged
from doorman.client.command_line.unreachable import Unreachable

_GIVE_ONE: Final = "give one with --kubeconfig or $KUBECONFIG; `doorman up` writes one"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class HttpClient:
    def __init__(
        self,
        kubeconfig: Path | None,
        context: str = "",
        options: ConnectionOptions = USUAL_CONNECTION,
        *,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`warn` is told what servers warn of, each thing once."""
        config = options.applied_to(chosen_config(kubeconfig, context))
        self.user = config.context.user or ""
        self._options = options
        self.namespace = config.context.namespace or "default"
        self.server = config.cluster.server
        self._date = ""
        self._warn = warn
        self._warned: set[str] = set()
        try:
            self._client = Client(
                config, ConnectionParams(timeout=httpx2.Timeout(options.timeout_seconds), trust_env=False)
            )
        except (ConfigError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unusable(kubeconfig, error) from error

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,  # any JSON value
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Any:  # the answer, parsed
        """The parsed answer; a Status of failure is raised as the ApiError it was."""
        headers = [("Accept", accept), *self._options.headers()]
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else msgspec.json.encode(body)
            headers.append(("Content-Type", content_type))
        answer = self._answer(method, _with_query(path, query), content, headers)
        return msgspec.json.decode(answer) if answer else None

    def text(self, path: str) -> str:
        """What a path answers, as it comes."""
        return self._answer("GET", path, None, self._options.headers()).decode()

    def _answer(self, method: str, path: str, content: bytes | None, headers: list[tuple[str, str]]) -> bytes:
        headers = [*headers, ("User-Agent", "doorman")]
        try:
            answer = self._client.request(method, path, content=content, headers=headers)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        self._date = answer.headers.get("date", "")
        self._tell_warnings(answer.headers.get_list("warning"))
        if answer.status_code >= 400:
            raise error_of(answer.status_code, answer.content)
        return bytes(answer.content)

    def watch(self, path: str, *, query: Mapping[str, str], accept: str = "application/json") -> Iterator[Any]:
        """Watch events, parsed, until the server ends the stream."""
        seconds = self._options.timeout_seconds if self._options.is_timeout_given else None
        limit = {"timeoutSeconds": str(math.ceil(seconds))} if seconds is not None else {}
        full = _with_query(path, {**limit, **query, "watch": "1"})
        headers = [("Accept", accept), *self._options.headers()]
        try:
            with self._client.stream("GET", full, headers=headers, timeout=None) as answer:
                if answer.status_code >= 400:
                    raise error_of(answer.status_code, answer.read())
                for line in answer.iter_lines():
                    if line:
                        yield msgspec.json.decode(line)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    def now(self) -> Instant:
        """What time it is there: a server's clock may be another one than ours, and a Doorman's may stand still."""
        try:
            return from_time(self.request("GET", CLOCK_PATH)["now"])
        except ApiError:  # no Doorman, or not for everybody to know
            return parsedate_to_datetime(self._date).timestamp()

    def is_doorman(self) -> bool:
        """Whether what answers there is a Doorman: it serves kinds of its own. Raises Unreachable.

        That is asked as oneself: whoever one acts as may be allowed nothing.
        """
        try:
            self._answer("GET", "/apis/doorman.dev", None, [])
        except ApiError:
            return False
        return True

    def close(self) -> None:
        self._client.close()

    def _tell_warnings(self, headers: Iterable[str]) -> None:
        """Of `299 - "text"` the text."""
        for header in headers:
            text = header.partition('"')[2].removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")
            if self._warn is not None and text not in self._warned:
                self._warned.add(text)
                self._warn(text)

    def _unreachable(self, error: Exception) -> Unreachable:
        host = self.server.removeprefix("https://").removeprefix("http://")
        hint = "is it running? `doorman up` starts one"
        if f"[Errno {ECONNREFUSED}]" in str(error):
            return Unreachable(
                f"The connection to the server {host} was refused - did you specify the right host or port?", hint
            )
        if isinstance(error, httpx2.TimeoutException):
            hint = "it takes longer than --request-timeout, or than 30s without"
            return Unreachable(f"Unable to connect to the server {host}: context deadline exceeded", hint)
        return Unreachable(f"Unable to connect to the server {host}: {error}", hint)


def find_kubeconfig(given: Path | None, fallback: Path) -> Path:
    """As kubectl: the flag, all of $KUBECONFIG; then a running Doorman's own, then ~/.kube/config."""
    if given is not None:
        return given
    variable = os.environ.get("KUBECONFIG", "")
    if files_of(variable):
        return Path(variable)
    return fallback if fallback.exists() else Path.home() / ".kube" / "config"


def chosen_config(kubeconfig: Path | None, context: str = "") -> SingleConfig:
    """What a kubeconfig says of one context. None: what a pod is given. Raises `Unreachable`."""
    files = files_of(str(kubeconfig)) if kubeconfig is not None else []
    try:
        loaded = merged(files) if files else KubeConfig.from_service_account()
        config = loaded.get(context or None)
        if config is None:
            raise ConfigError("no current context")
    except (ConfigError, OSError, KeyError, TypeError, ValueError, AttributeError, YAMLError) as error:
        missing = next((file for file in files if not file.exists()), None) if len(files) == 1 else None
        if missing is not None:
            raise Unreachable(f"stat {missing}: no such file or directory", _GIVE_ONE) from error
        if context and f"'{context}' not found" in str(error):
            raise Unreachable(f"context was not found for specified context: {context}", _GIVE_ONE) from error
        raise _unusable(kubeconfig, error) from error
    return config


def _unusable(kubeconfig: Path | None, error: Exception) -> Unreachable:
    named = f"the kubeconfig {kubeconfig}" if kubeconfig is not None else "the service account of this pod"
    return Unreachable(
        f"{named} cannot be used: {_fault_of(error)}",
        _GIVE_ONE,
    )


def _fault_of(error: Exception) -> str:
    """What is wrong with a kubeconfig, on one line."""
    match error:
        case YAMLError():
            return "it is no YAML: " + " ".join(str(error).split())
        case KeyError():
            return f'it has no "{error.args[0]}"'
        case TypeError() | AttributeError():
            return "it has another shape than a kubeconfig"
        case _:
            return str(error)


def _with_query(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path
