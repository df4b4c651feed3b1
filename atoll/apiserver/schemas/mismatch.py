"""A value that does not fit its Go type, told in the words of Go's JSON decoder.

The decoder names the innermost struct, the path of fields without list indexes, and the Go type.
The path is collected while the exception passes upwards, so that reading what fits costs nothing.
"""

from typing import Any

from atoll.apiserver.schemas.schema import Schema

# Structs that Go embeds without a name in JSON; its messages name them all the same.
_HANDLERS = frozenset(["exec", "grpc", "httpGet", "tcpSocket"])
_GO_NAMES = {"boolean": "bool", "number": "float64", "int-or-string": "int32"}


class Mismatch(Exception):
    """The object cannot be read as its kind; `message()` is Go's sentence."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def inside(self, struct: str, field: str) -> None:
        """Note that this happened in a field of a struct."""

    def message(self) -> str:
        return self.text


class WrongType(Mismatch):
    """A value of another JSON type than the field's."""

    def __init__(self, value: Any, wanted: str) -> None:
        super().__init__(f"{value} is no {wanted}")
        self.value = value
        self.wanted = wanted
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
        what = f"json: cannot unmarshal {_kind(self.value, self.wanted)}"
        if not self._path:
            return f"{what} into Go value of type {self.wanted}"
        path = ".".join(reversed(self._path))
        return f"{what} into Go struct field {self._struct}.{path} of type {self.wanted}"


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
            return "v1.ResourceList"
        inner = go_type(schema.element) if schema.element is not None else "interface {}"
        return f"map[string]{inner}" if schema.type == "map" else f"[]{inner}"
    if schema.type == "integer":
        return schema.format if schema.format in ("int32", "int64") else "int64"
    if schema.type == "string" and schema.format == "byte":
        return "[]uint8"
    return _GO_NAMES.get(schema.type, schema.type)
