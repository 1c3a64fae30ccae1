"""On whose behalf something is written, and how."""

from collections.abc import Mapping
from typing import Any

import msgspec

from doorman.api.identity import User


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    user: User
    manager: str = "unknown"
    is_apply: bool = False
    dry_run: bool = False
    warnings: list[str] | None = None
    """Where admission leaves what it has to say; None: nobody listens."""
    annotations: dict[str, str] | None = None
    """Where it leaves what the audit log is to be told."""
    options: Mapping[str, Any] | None = None  # CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as JSON
    sent: tuple[str, str, bytes] | None = None
    """Media type, wished field validation and body, as they were sent; None: it was put together in this process."""
    weight_bytes: int = 0
    """About how much work what was sent is (`doorman.base.loop_turns`)."""
