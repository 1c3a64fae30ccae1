"""What JSON is in Python, under one name each."""

from collections.abc import Callable
from typing import Any, TypeAlias

Json: TypeAlias = Any  # what a parser gives: nothing says what is in it
"""Any JSON value."""

Document: TypeAlias = dict[str, Any]  # of JSON values
"""A Kubernetes object, or a part or a patch of one, as parsed JSON."""

Transform: TypeAlias = Callable[[Document], Document]
"""From one document to another. It may share members with the first, and does not change them."""
