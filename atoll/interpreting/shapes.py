"""What a script's answer has lost on its way through Lua, found again in what it was given.

Lua knows one empty table for lists and objects, and no whole numbers beyond 2^53. An empty value
becomes what stood at the same field of an original; where none did, the field goes, as in Karmada.
A number that is equal to the original's is the original.
"""

from collections.abc import Iterable, Iterator
from typing import Any

Path = tuple[str, ...]


def restored(value: Any, originals: Iterable[Any]) -> Any:
    """The answer as it was meant, by the objects it was made from."""
    known = tuple(originals)
    empty: dict[Path, Any] = {}
    for original in known:
        for path, found in _empty(original, ()):
            # Where both occur, the object wins.
            empty[path] = {} if found == {} or empty.get(path) == {} else []
    return _restored(value, known, empty, ())


def _empty(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The empty lists and objects in a value; all elements of a list share its path."""
    if isinstance(value, dict):
        for key, each in value.items():
            here = (*path, key)
            if each in ({}, []):
                yield here, each
            else:
                yield from _empty(each, here)
    elif isinstance(value, list):
        for each in value:
            if each in ({}, []):
                yield path, each
            else:
                yield from _empty(each, path)


def _restored(value: Any, originals: tuple[Any, ...], empty: dict[Path, Any], path: Path) -> Any:
    if isinstance(value, dict):
        made = {}
        for key, each in value.items():
            here = (*path, key)
            if each == []:
                if here in empty:
                    made[key] = type(empty[here])()
            else:
                below = tuple(o[key] for o in originals if isinstance(o, dict) and key in o)
                made[key] = _restored(each, below, empty, here)
        return made
    if isinstance(value, list):
        listed = []
        for index, each in enumerate(value):
            if each == []:
                if path in empty:
                    listed.append(type(empty[path])())
            else:
                lists = (o for o in originals if isinstance(o, list) and index < len(o))
                listed.append(_restored(each, tuple(o[index] for o in lists), empty, path))
        return listed
    return _number(value, originals)


def _number(value: Any, originals: tuple[Any, ...]) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        for original in originals:
            is_number = isinstance(original, int | float) and not isinstance(original, bool)
            if is_number and float(original) == float(value):
                return original
    return value
