"""Views of pods: specs that look the same are one object.

Most pods are one of many. Their specs differ in the node they are on and in the name that was drawn for the volume with
their token, which no view shows. So a spec is decoded once for all of them, and a pod's versions share it for as
long as it is not changed: less memory, and comparing specs is mostly comparing pointers.
"""

import re
from typing import Final

import msgspec

from doorman.api.views.meta import ObjectMeta, view_decoder
from doorman.api.views.pods import TOKEN_VOLUME_PREFIX, Pod, PodSpec, PodStatus

SPECS_MAX: Final = 512
_DRAWN: Final = re.compile(rb'"kube-api-access-[a-z0-9]{5}"')
_DRAWN_PREFIX: Final = TOKEN_VOLUME_PREFIX.encode()
_NODE: Final = re.compile(rb'\{"nodeName":"([a-z0-9.-]+)",')
"""How a spec begins when the node was put in later (see `doorman.registry.fastpath.pod_bytes`)."""
_SPEC: Final = b',"spec":'


class _Parts(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: PodStatus = PodStatus()


_decode_parts: Final = view_decoder(_Parts)
_decode_spec: Final = view_decoder(PodSpec)


class PodViews:
    def __init__(self) -> None:
        self._specs: dict[bytes, PodSpec] = {}
        """By their bytes without what no view shows."""

    def decode(self, json: bytes) -> Pod:
        parts = _decode_parts(json)
        return Pod(metadata=parts.metadata, spec=self._spec(bytes(parts.spec)), status=parts.status)

    def decode_after(self, json: bytes, before: Pod, kept_before: bytes) -> Pod:
        """The same for a version that follows another one, of which the kept bytes are given."""
        parts = _decode_parts(json)
        spec = bytes(parts.spec)
        same = before.spec if _has_spec(kept_before, spec) else self._spec(spec)
        return Pod(metadata=parts.metadata, spec=same, status=parts.status)

    def _spec(self, spec: bytes) -> PodSpec:
        placed = _NODE.match(spec)
        if placed is not None:
            anywhere = self._spec(b"{" + spec[placed.end() :])
            if anywhere.node_name:
                return _decode_spec(spec)
            moved: PodSpec = msgspec.structs.replace(anywhere, node_name=placed[1].decode())
            return moved
        key = _DRAWN.sub(b"", spec)
        found = self._specs.get(key)
        if found is None:
            found = _decode_spec(spec)
            # Whoever shows such a name in something else than a volume is on his own.
            if _DRAWN_PREFIX not in msgspec.json.encode(found):
                if len(self._specs) >= SPECS_MAX:
                    self._specs.clear()
                self._specs[key] = found
        return found


def _has_spec(kept: bytes, spec: bytes) -> bool:
    """Whether it is certain that these bytes are the spec of a pod that is kept so."""
    at = kept.find(_SPEC) + len(_SPEC)
    return kept.startswith(spec, at) and kept[at + len(spec) : at + len(spec) + 1] in (b",", b"}")
