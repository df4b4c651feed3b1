"""Objects as bytes that stay in memory: those of the store, and what is remembered of them."""

from typing import Any

import orjson


def kept_bytes(obj: dict[str, Any]) -> bytes:
    """The object as JSON, in no more memory than it needs."""
    # orjson hands out its whole buffer: up to five times what it wrote there.
    return bytes(memoryview(orjson.dumps(obj)))
