"""The HTTPS call to an admission webhook.

Certificates are checked against the configuration's caBundle, or the system's authorities without one. A service is
found where its ExternalName, its external IPs or its endpoints say; its certificate must be for `NAME.NAMESPACE.svc`.
"""

import asyncio
import base64
import binascii
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from doorman.admission.webhooks.webhook_dispatch import Unanswered
from doorman.api.views.admissionregistration import ClientConfig, ServiceReference
from doorman.api.well_known import SIMULATED
from doorman.base.json_types import Document
from doorman.client.webhooks.webhook_errors import WebhookRefused, connection_fault, status_fault

if TYPE_CHECKING:
    import httpx2  # loaded with the first call: most clusters have no webhooks

ANSWER_BYTES_MAX: Final = 3 * 1024 * 1024
CLIENTS_MAX: Final = 64
"""Connections are kept for as many authorities."""


class Target(msgspec.Struct, frozen=True):
    """Where to connect, and whose certificate to expect there."""

    url: str
    server_name: str = ""
    refusal: str = ""
    """Why nobody answers there, where that is known."""


ServiceLookup = Callable[[str, str, str], Mapping[str, Any] | None]  # a document
"""Finds a service, its endpoints or a node: resource, namespace and name."""


class WebhookCaller:
    def __init__(self, services: ServiceLookup) -> None:
        self._services = services
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self.in_flight = 0
        """Calls that are not answered yet."""

    async def post(self, config: ClientConfig, review: Document, timeout_seconds: int) -> bytes:
        import httpx2

        target = target_of(config, self._services)
        told = f'failed to call webhook: Post "{_shown(config, target)}?timeout={timeout_seconds}s"'
        if target.refusal:
            raise Unanswered(f"{told}: {target.refusal}")
        self.in_flight += 1
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._post(config, target, review, timeout_seconds)
        except TimeoutError as error:
            raise Unanswered(f"{told}: context deadline exceeded") from error
        except WebhookRefused as error:
            raise Unanswered(f"failed to call webhook: {error}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise Unanswered(f"{told}: {connection_fault(error, target.url, target.server_name)}") from error
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def _post(self, config: ClientConfig, target: Target, review: Document, seconds: int) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "doorman"}
        extensions = {"sni_hostname": target.server_name} if target.server_name else {}
        if target.server_name:
            headers["Host"] = target.server_name
        request = self._client(config.ca_bundle).stream(
            "POST",
            target.url,
            params={"timeout": f"{seconds}s"},
            content=msgspec.json.encode(review),
            headers=headers,
            extensions=extensions,
        )
        async with request as answer:
            body = b""
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES_MAX:
                    raise ValueError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
            if not 200 <= answer.status_code < 300:
                raise WebhookRefused(status_fault(answer.status_code, body))
            return body

    def _client(self, ca_bundle: str) -> "httpx2.AsyncClient":
        import httpx2

        found = self._clients.get(ca_bundle)
        if found is None:
            if len(self._clients) >= CLIENTS_MAX:
                self._clients.pop(next(iter(self._clients)))
            context = ssl.create_default_context(cadata=_pem(ca_bundle)) if ca_bundle else ssl.create_default_context()
            # A redirect could lead the review, secrets and all, anywhere; a proxy of the environment too.
            found = httpx2.AsyncClient(verify=context, follow_redirects=False, trust_env=False, timeout=None)
            self._clients[ca_bundle] = found
        return found


def target_of(config: ClientConfig, services: ServiceLookup) -> Target:
    """Raises Unanswered when the configuration names nothing that can be reached."""
    if config.service is not None:
        return _service_target(config.service, services)
    parts = urlsplit(config.url)
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Unanswered(f'failed to call webhook: "{config.url}" must be https, without user, query or fragment')
    return Target(config.url)


def _service_target(service: ServiceReference, services: ServiceLookup) -> Target:
    found = services("services", service.namespace, service.name)
    if found is None:
        raise Unanswered(f'failed to call webhook: service "{service.name}" not found')
    spec = found.get("spec") or {}
    host, port = spec.get("externalName") or next(iter(spec.get("externalIPs") or ()), ""), service.port
    node = ""
    if not host:
        host, port, node = _endpoint(service, spec, services)
    if not host:
        raise Unanswered(f'failed to call webhook: no endpoints available for service "{service.name}"')
    shown = f"[{host}]" if ":" in host else host
    refusal = ""
    if node and _is_simulated(node, services):
        refusal = f"dial tcp {shown}:{port}: connect: connection refused (a simulated pod on {node}: nothing listens)"
    return Target(f"https://{shown}:{port}{service.path or '/'}", f"{service.name}.{service.namespace}.svc", refusal)


def _is_simulated(node: str, services: ServiceLookup) -> bool:
    """Its pods have addresses that are nobody's, or somebody else's."""
    found = services("nodes", "", node) or {}
    return SIMULATED in ((found.get("metadata") or {}).get("annotations") or {})


def _endpoint(service: ServiceReference, spec: Mapping[str, Any], services: ServiceLookup) -> tuple[str, int, str]:
    """Address, port and node of one that is ready."""
    ports = [port for port in spec.get("ports") or () if port.get("port") == service.port]
    name = ports[0].get("name", "") if ports else ""
    endpoints = services("endpoints", service.namespace, service.name) or {}
    for subset in endpoints.get("subsets") or ():
        for address in subset.get("addresses") or ():
            for port in subset.get("ports") or ():
                if port.get("name", "") == name:
                    return address["ip"], port["port"], address.get("nodeName", "")
    return "", 0, ""


def _shown(config: ClientConfig, target: Target) -> str:
    if config.service is None:
        return target.url
    return f"https://{target.server_name}:{config.service.port}{config.service.path or '/'}"


def _pem(ca_bundle: str) -> str:
    try:
        return base64.b64decode(ca_bundle, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(f"the caBundle is no base64 of certificates: {error}") from error
