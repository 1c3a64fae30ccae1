"""What people say of a connection beside its kubeconfig: another address, somebody else's rights, how long to wait."""

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig  # slow to load, and read by who connects

TIMEOUT_SECONDS: Final = 30.0


class ConnectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    server: str = ""
    """Instead of the kubeconfig's."""

    user: str = ""
    groups: tuple[str, ...] = ()
    """Who to act as."""

    timeout_seconds: float | None = TIMEOUT_SECONDS
    """Of one request; None: as long as it takes."""

    is_timeout_given: bool = False

    def applied_to(self, config: "SingleConfig") -> "SingleConfig":
        if not self.server:
            return config
        server = self.server if "://" in self.server else f"http://{self.server}"
        return config._replace(cluster=msgspec.structs.replace(config.cluster, server=server))

    def headers(self) -> list[tuple[str, str]]:
        """By which a server is asked to take one for another."""
        user = [("Impersonate-User", self.user)] if self.user else []
        return [*user, *(("Impersonate-Group", group) for group in self.groups)]


USUAL_CONNECTION: Final = ConnectionOptions()
