"""Subresources that are objects of a kind of their own: a scale.

They are not stored. What is written to one is written to the object it is a part of; admission sees the part alone.
"""

from collections.abc import Callable

import msgspec

from doorman.base.json_types import Document


class SubresourceObject(msgspec.Struct, frozen=True, kw_only=True):
    subresource: str
    type_name: str
    show: Callable[[Document], Document]
    """The part of a whole."""
    put: Callable[[Document, Document], Document]
    """A whole with another part. Neither is changed."""
