"""Which keys of a JSON text are said twice, as paths."""

from collections.abc import Iterator
from typing import Any

from atoll.apiserver.schemas.json_values import Repeating


def repeated_paths(value: Any, path: str = "") -> list[str]:
    """The paths of repeated keys in the order of the text, each once."""
    return list(dict.fromkeys(_walk(value, path)))


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        seen: set[str] = set()
        for key, item in value.pairs if isinstance(value, Repeating) else value.items():
            inner = f"{path}.{key}" if path else key
            if key in seen:
                yield inner
            seen.add(key)
            yield from _walk(item, inner)
