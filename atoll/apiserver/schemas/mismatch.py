"""A value that does not fit its Go type, told in the words of Go's JSON decoder.

The decoder names the innermost struct, the path of fields without list indexes, and the Go type.
The path is collected while the exception passes upwards, so that reading what fits costs nothing.
"""

from typing import Any

from atoll.apiserver.schemas.schema import Schema

# Structs that Go embeds without a name in JSON; its messages name them all the same.
_HANDLERS = frozenset(["exec", "grpc", "httpGet", "tcpSocket"])
_RESOURCES = "v1.ResourceList"
_GO_NAMES = {"boolean": "bool", "number": "float64", "int-or-string": "int32"}


class Mismatch(Exception):
    """The object cannot be read as its kind; `message()` is Go's sentence."""

    def __init__(self, text: str, converting: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self._converting = converting

    def inside(self, struct: str, field: str) -> None:
        """Note that this happened in a field of a struct."""

    def message(self) -> str:
        return self.text

    def converting(self) -> str:
        """What is said instead where an object is put together from parts (strategic patches)."""
        return self.text if self._converting is None else self._converting


class WrongType(Mismatch):
    """A value of another JSON type than the field's; some types read their JSON `by_hand`."""

    def __init__(self, value: Any, wanted: str, *, by_hand: bool = False) -> None:
        super().__init__(f"{value} is no {wanted}")
        self.value = value
        self.wanted = wanted
        self._by_hand = by_hand
        self._struct = ""
        self._path: list[str] = []

    def inside(self, struct: str, field: str) -> None:
        self._struct = self._struct or struct
        self._path.append(field)
        if struct == "Volume" and field != "name":
            self._path.append("VolumeSource")
        elif struct == "Probe" and field in _HANDLERS:
            self._path.append("ProbeHandler")

    def message(self) -> str:
        if not self._path:
            return self._alone()
        what = f"json: cannot unmarshal {_kind(self.value, self.wanted)}"
        path = ".".join(reversed(self._path))
        return f"{what} into Go struct field {self._struct}.{path} of type {self.wanted}"

    def _alone(self) -> str:
        what = f"json: cannot unmarshal {_kind(self.value, self.wanted)}"
        return f"{what} into Go value of type {self.wanted}"

    def converting(self) -> str:
        if self._by_hand:
            return self._alone()
        found, wanted = _go_kind(self.value), self.wanted
        if wanted.startswith("map[") or wanted == _RESOURCES:
            return f"cannot restore map from {found}"
        if wanted.startswith("[]"):
            return f"cannot restore slice from {found}"
        if "." in wanted:
            return f"cannot restore struct from: {found}"
        convertible = (found == "int64" and wanted == "string") or (
            found == "float64" and _is_int(wanted)
        )
        return (
            f"cannot convert {found} to {wanted}" if convertible else f"unrecognized type: {wanted}"
        )


def _is_int(wanted: str) -> bool:
    return wanted in ("int32", "int64")


def _go_kind(value: Any) -> str:
    kinds = {bool: "bool", int: "int64", str: "string", list: "slice", dict: "map"}
    return kinds.get(type(value), "float64")


def _kind(value: Any, wanted: str) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        # Only where a number was wanted does Go quote the one it found.
        return f"number {value}" if wanted.startswith(("int", "float")) else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def go_type(schema: Schema) -> str:
    """The Go type of a value, as far as OpenAPI knows it: named strings are just strings to it."""
    if schema.type == "object":
        return ".".join(schema.definition.split(".")[-2:]) if schema.definition else "interface {}"
    if schema.type in ("map", "list"):
        if schema.element is not None and schema.element.format == "quantity":
            return _RESOURCES
        inner = go_type(schema.element) if schema.element is not None else "interface {}"
        return f"map[string]{inner}" if schema.type == "map" else f"[]{inner}"
    if schema.type == "integer":
        return schema.format if schema.format in ("int32", "int64") else "int64"
    if schema.type == "string" and schema.format == "byte":
        return "[]uint8"
    return _GO_NAMES.get(schema.type, schema.type)
