"""JSON inside objects: annotations that hold a value as text.

The only place in the core that knows the notation; whole objects are read and written elsewhere.
"""

from typing import Any

import orjson


def written(value: Any) -> str:
    """A value as text, the same for equal values: compact, with keys in order."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def read(text: str) -> Any | None:
    """The value a text says; None if it says none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
