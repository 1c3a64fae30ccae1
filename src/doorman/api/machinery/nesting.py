"""How deep a document is nested, found without recursion: whoever walks it afterwards may recurse."""

from doorman.base.json_types import Json


def is_deeper(value: Json, depth_max: int) -> bool:
    """
    >>> is_deeper({"a": [1]}, 2), is_deeper({"a": [{}]}, 2)
    (False, True)
    """
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth_max):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return bool(level)
