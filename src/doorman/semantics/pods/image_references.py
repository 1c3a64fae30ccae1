"""Names of images: whether a text is one, and which tag it names."""

import re
from functools import lru_cache
from typing import Final

_COMPONENT: Final = "[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*"
_HOST: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REFERENCE: Final = re.compile(
    rf"((?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(\w[\w.-]{0,127}))?"
    r"(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):([0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_HEX_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")
_NAME_BYTES_MAX: Final = 255
_DOCKER: Final = "docker.io"


@lru_cache(maxsize=4096)
def image_tag(image: str) -> str:
    """`latest` where neither a tag nor a digest is given; empty for a digest alone, and for what is no image.

    >>> [image_tag(text) for text in ("nginx", "localhost:5000/nginx", "nginx:1.27", "a/b", "UPPER", "a@sha256:b", "")]
    ['latest', 'latest', '1.27', 'latest', '', '', '']
    """
    if _IDENTIFIER.fullmatch(image):
        return ""
    found = _REFERENCE.fullmatch(_with_domain(image))
    if found is None or len(found[1]) > _NAME_BYTES_MAX:
        return ""
    tag, algorithm, digits = found[2] or "", found[3], found[4]
    if algorithm is None:
        return tag or "latest"
    is_digest = _HEX_DIGITS.get(algorithm) == len(digits) and digits == digits.lower()
    return tag if is_digest else ""


def full_reference(image: str) -> str:
    """With its registry and its tag, as a runtime asks for it.

    >>> [full_reference(text) for text in ("nginx", "a/b:2", "localhost:5000/x", "quay.io/a@sha256:0")]
    ['docker.io/library/nginx:latest', 'docker.io/a/b:2', 'localhost:5000/x:latest', 'quay.io/a@sha256:0']
    """
    whole = _with_domain(image)
    return whole if ":" in whole.rpartition("/")[2] else f"{whole}:latest"


def _with_domain(image: str) -> str:
    head, slash, rest = image.partition("/")
    is_domain = bool(slash) and ("." in head or ":" in head or head == "localhost" or head != head.lower())
    if not is_domain:
        head, rest = _DOCKER, image
    if head in (_DOCKER, "index.docker.io"):
        head = _DOCKER
        rest = rest if "/" in rest else f"library/{rest}"
    return f"{head}/{rest}"
