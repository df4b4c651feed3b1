"""The shape of a value: what patches, server-side apply, decoding and OpenAPI need to know of it.

Built-in kinds get theirs from the generated facts (`schemas.facts`), custom ones from their CRD
(`schemas.structural`). A Schema is a node of a graph that may have cycles (a JSON schema contains
JSON schemas), which is why nodes are compared by identity and filled in after they are made.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

Type = Literal[
    "object",  # named fields
    "map",  # any keys, one kind of value
    "list",
    "string",
    "integer",
    "number",
    "boolean",
    "int-or-string",
    "any",  # anything at all; never looked into
]
ListType = Literal["atomic", "set", "map"]


class Absent:
    """The default of a field that has none (None would be a default of null)."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@dataclass(slots=True, eq=False)
class Schema:
    """What is known of one value. Every list is atomic unless it says otherwise."""

    type: Type
    name: str = ""  # the last part of the definition's name, as in error messages: DeploymentSpec
    definition: str = ""  # its full name in OpenAPI: io.k8s.api.apps.v1.DeploymentSpec
    format: str = ""  # int32, int64, byte, date-time, quantity, ...
    fields: dict[str, "Schema"] = field(default_factory=dict)  # of an object
    element: "Schema | None" = None  # of a list or map
    required: tuple[str, ...] = ()
    default: Any = ABSENT
    nullable: bool = False
    list_type: ListType = "atomic"
    list_keys: tuple[str, ...] = ()  # of a list of type map
    atomic: bool = False  # an object or map that is replaced as a whole
    merge_key: str = ""  # strategic merge patch: the key of a merging list of objects
    merge: bool = False  # strategic merge patch: this list or map merges rather than replaces
    retain_keys: bool = False  # strategic merge patch: $retainKeys applies
    preserve_unknown: bool = False  # an object that keeps fields it does not name
    embedded: bool = False  # an object that is itself a whole Kubernetes object

    def child(self, key: str) -> "Schema | None":
        """The schema of one field or map value; None if this schema knows no such field."""
        if self.type == "object":
            known = self.fields.get(key)
            if known is None and self.element is not None:
                return self.element
            return known
        return self.element if self.type == "map" else None


ANY = Schema("any")
