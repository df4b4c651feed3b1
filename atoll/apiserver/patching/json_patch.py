"""JSON patch (RFC 6902) as kube-apiserver applies it: six operations, all of them or none.

In: the document and the decoded patch. Out: the patched document, which shares with the old one all
that no operation touched. Where the server is laxer than the RFC, so are we: negative indices count
from the end, "replace" may create a key, a key that is missing reads as null.
"""

from collections.abc import Callable
from typing import Any

import orjson
import re2

from atoll.apiserver.patching.wording import json_name, too_deep
from atoll.apiserver.schemas.json_values import same
from atoll.apiserver.status import ApiError, bad_request, too_large, unprocessable

OPERATIONS_MAX = 10_000
COPIED_BYTES_MAX = 3 * 1024 * 1024

_GO_PATCH = "[]handlers.jsonPatchOp"
_INDEX = re2.compile(r"[+-]?[0-9]{1,18}")


def apply_json_patch(document: Any, patch: Any) -> Any:
    """The document with every operation carried out in order; ApiError if one cannot be."""
    operations = _checked(patch)
    state = _State(document)
    try:
        for operation in operations:
            _carry_out(state, operation)
    except RecursionError:
        raise too_deep() from None
    return state.root


def _checked(patch: Any) -> list[dict[str, Any]]:
    """The operations; 400 if they do not have the form of a patch, 413 if they are too many."""
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _misfit(patch, f"Go value of type {_GO_PATCH}")
    operations = [{} if operation is None else operation for operation in patch]
    for operation in operations:
        if not isinstance(operation, dict):
            raise _misfit(operation, f"Go value of type {_GO_PATCH.removeprefix('[]')}")
        for key in ("op", "path", "from"):
            if operation.get(key) is not None and not isinstance(operation[key], str):
                raise _misfit(operation[key], f"Go struct field jsonPatchOp.{key} of type string")
    if len(operations) > OPERATIONS_MAX:
        raise too_large(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{OPERATIONS_MAX}, got {len(operations)}"
        )
    return operations


def _misfit(value: Any, target: str) -> ApiError:
    text = f"error decoding patch: json: cannot unmarshal {json_name(value)} into {target}"
    return bad_request(text)


class _State:
    """The document as patched so far, and which of its containers are ours to change."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied_bytes = 0
        # The input outlives us, so an id in here is never that of a container of the input.
        self._own: set[int] = set()

    def container(self, tokens: list[str]) -> Any:
        """The container that holds the path's last token, and all above it, ours to change."""
        self.root = here = self._owned(self.root)
        for token in tokens[:-1]:
            key = _place(here, token)
            child = here[key] = self._owned(here[key])
            here = child
        return here

    def _owned(self, container: Any) -> Any:
        if not isinstance(container, dict | list):
            raise unprocessable()
        if id(container) in self._own:
            return container
        copy = container.copy()
        self._own.add(id(copy))
        return copy


def _carry_out(state: _State, operation: dict[str, Any]) -> None:
    perform = _PERFORM.get(operation.get("op") or "")
    if perform is None or operation.get("path") is None:
        raise unprocessable()
    perform(state, operation)


def _tokens(path: str) -> list[str]:
    """The parts of a pointer. What stands before the first slash is not looked at."""
    parts = path.split("/")
    if len(parts) < 2:
        raise unprocessable()
    return [part.replace("~1", "/").replace("~0", "~") for part in parts[1:]]


def _place(container: Any, token: str) -> Any:
    """The key or index of something that is there."""
    if isinstance(container, dict):
        if token in container:
            return token
        raise unprocessable()
    return _index(container, token, len(container))


def _index(container: list[Any], token: str, size: int) -> int:
    if not _INDEX.fullmatch(token):
        raise unprocessable()
    index = int(token)
    if not -size <= index < size:
        raise unprocessable()
    return index + size if index < 0 else index


def _read(state: _State, path: str) -> Any:
    """The value at a path; a missing key of an object reads as null."""
    here = state.root
    *parents, last = _tokens(path)
    for token in parents:
        here = _child(here, token)
    if isinstance(here, dict):
        return here.get(last)
    return _child(here, last)


def _child(container: Any, token: str) -> Any:
    if not isinstance(container, dict | list):
        raise unprocessable()
    return container[_place(container, token)]


def _insert(state: _State, path: str, value: Any) -> None:
    tokens = _tokens(path)
    container = state.container(tokens)
    if isinstance(container, dict):
        container[tokens[-1]] = value
    elif tokens[-1] == "-":
        container.append(value)
    else:
        container.insert(_index(container, tokens[-1], len(container) + 1), value)


def _take(state: _State, path: str) -> Any:
    tokens = _tokens(path)
    container = state.container(tokens)
    return container.pop(_place(container, tokens[-1]))


def _replace(state: _State, operation: dict[str, Any]) -> None:
    value = operation.get("value")
    if operation["path"] == "":
        if not isinstance(value, dict | list):
            raise unprocessable()
        state.root = value
        return
    tokens = _tokens(operation["path"])
    container = state.container(tokens)
    if isinstance(container, dict):
        container[tokens[-1]] = value
    else:
        container[_place(container, tokens[-1])] = value


def _move(state: _State, operation: dict[str, Any]) -> None:
    if operation.get("from") is None:
        raise unprocessable()
    _insert(state, operation["path"], _take(state, operation["from"]))


def _copy(state: _State, operation: dict[str, Any]) -> None:
    """A real copy: sharing it would let later operations change both, and grow without bound."""
    if operation.get("from") is None:
        raise unprocessable()
    try:
        written = orjson.dumps(_read(state, operation["from"]))
    except orjson.JSONEncodeError:
        raise unprocessable() from None
    state.copied_bytes += len(written)
    if state.copied_bytes > COPIED_BYTES_MAX:
        raise unprocessable()
    _insert(state, operation["path"], orjson.loads(written))


def _test(state: _State, operation: dict[str, Any]) -> None:
    path = operation["path"]
    found = state.root if path == "" else _read(state, path)
    if not same(found, operation.get("value")):
        raise unprocessable()


_PERFORM: dict[str, Callable[[_State, dict[str, Any]], object]] = {
    "add": lambda state, operation: _insert(state, operation["path"], operation.get("value")),
    "remove": lambda state, operation: _take(state, operation["path"]),
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
