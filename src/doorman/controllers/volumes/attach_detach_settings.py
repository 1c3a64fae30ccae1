"""What the attach-detach controller can be told."""

import msgspec


class AttachDetachSettings(msgspec.Struct, frozen=True, kw_only=True):
    disable_force_detach_on_timeout: bool = False
    """What the kubelet of a node that is not Ready says is in use stays attached.

    >>> AttachDetachSettings().disable_force_detach_on_timeout
    False
    """
