"""What Kubernetes itself says of its kinds: their names, verbs and the shape of their objects.

In: kubernetes.json beside this file, written by `make facts` from a real kube-apiserver. Out: the
kinds and groups in discovery order, a Schema per definition (built when first asked for), and the
definition as OpenAPI and as a protobuf message. Defaulting and validation are not here: they are
code, in `kinds`.

The `default` of a field here is OpenAPI's: what Go writes for a value that is never absent ("", 0,
{}), or a list key's default (TCP). It is not what the server fills into objects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from atoll.apiserver.schemas.schema import Schema, Type

REF = "#/components/schemas/"
_GVKS = "x-kubernetes-group-version-kind"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

# Go types that read and write their JSON by hand: their OpenAPI says less than they do.
_SPECIAL: Mapping[str, tuple[Type, str]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("string", "quantity"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("int-or-string", ""),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("any", ""),
    _META + "Time": ("string", "date-time"),
    _META + "MicroTime": ("string", "micro-time"),
    _META + "FieldsV1": ("any", ""),
    _META + "Patch": ("any", ""),
    _CRD + "JSON": ("any", ""),
    _CRD + "JSONSchemaPropsOrArray": ("any", ""),
    _CRD + "JSONSchemaPropsOrBool": ("any", ""),
    _CRD + "JSONSchemaPropsOrStringArray": ("any", ""),
}


@dataclass(frozen=True, slots=True)
class SubresourceFacts:
    """A subresource: its verbs, and the kind it reads and answers."""

    verbs: tuple[str, ...]
    group: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class KindFacts:
    """A resource as discovery shows it; `definition` names its schema."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: Mapping[str, SubresourceFacts]
    definition: str
    storage_version_hash: str


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version of a group; `roots` are the definitions its OpenAPI document is spanned by."""

    version: str
    priority: int
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group, its place in discovery (higher is earlier) and its versions, preferred first."""

    group: str
    priority: int
    versions: tuple[VersionFacts, ...]


class FieldFacts(NamedTuple):
    """A field in a definition's protobuf form. `zero` says what JSON has for a value of zero:

    "omitempty" or "omitzero": nothing; "pointer" or "": the zero. It is "wrapped" for a list that
    is a message of its own, and "inline" for a struct whose fields JSON has in place of it: such a
    one has the name of a message instead of its own.
    """

    number: int
    name: str
    zero: Literal["", "pointer", "omitempty", "omitzero", "wrapped", "inline"] = ""


@dataclass(frozen=True, slots=True)
class _Texts:
    """Values by name, kept as the JSON they were written in: most are never asked for."""

    _raw: Mapping[str, msgspec.Raw]

    def __getitem__(self, name: str) -> Any:
        return msgspec.json.decode(self._raw[name])

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def names(self) -> Iterable[str]:
        return self._raw.keys()


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything known of one Kubernetes version."""

    kubernetes: str  # v1.36.4
    kinds: tuple[KindFacts, ...]  # in discovery order
    groups: tuple[GroupFacts, ...]  # in discovery order
    _definitions: _Texts
    _per_version: frozenset[str]
    _messages: _Texts
    _built: dict[str, Schema] = field(default_factory=dict)
    _left_out: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def definitions(self) -> Iterable[str]:
        return self._definitions.names()

    def schema(self, definition: str) -> Schema:
        """The shape of a definition: always the same node, and one that may contain itself."""
        known = self._built.get(definition)
        return self._build(definition) if known is None else known

    def openapi(self, definition: str, group: str = "", version: str = "v1") -> dict[str, Any]:
        """A definition as in the OpenAPI v3 document of a group and version."""
        schema: dict[str, Any] = self._definitions[definition]
        if definition not in self._per_version or (group, version) == ("", "v1"):
            return schema
        kind = definition.rpartition(".")[2]
        own = {"group": group, "kind": kind, "version": version}
        return schema | {_GVKS: [*schema[_GVKS], own]}

    def message(self, name: str) -> list[FieldFacts]:
        """The protobuf fields of a definition, or of a struct inlined into one."""
        return [FieldFacts(*field) for field in self._messages[name]]

    def left_out(self, name: str) -> frozenset[str]:
        """The fields of a definition that JSON does not have where they are zero or empty."""
        known = self._left_out.get(name)
        if known is not None:
            return known
        found: set[str] = set()
        for one in self.message(name) if name in self._messages else ():
            if one.zero == "inline":
                found |= self.left_out(one.name)
            elif one.zero in ("omitempty", "omitzero"):
                found.add(one.name)
        return self._left_out.setdefault(name, frozenset(found))

    def closure(self, roots: Iterable[str]) -> tuple[str, ...]:
        """The definitions one needs to understand `roots`, themselves included, sorted."""
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(_refs(self._definitions[name]))
        return tuple(sorted(found))

    def _build(self, definition: str) -> Schema:
        """Registers the node before it looks into its fields, so that it may be among them."""
        source = self._definitions[definition]
        name = definition.rpartition(".")[2]
        special = _SPECIAL.get(definition)
        if special is not None:
            kind, form = special
            node = Schema(kind, name=name, definition=definition, format=form)
            self._built[definition] = node
            return node
        node = replace(self._node(source), name=name, definition=definition)
        self._built[definition] = node
        self._fill(node, source)
        return node

    def _of(self, source: dict[str, Any]) -> Schema:
        """The schema at a use: a definition's own node, unless the use adds something to it."""
        target = _ref(source)
        if target is None:
            node = self._node(source)
            self._fill(node, source)
            return node
        shared = self.schema(target)
        added = _additions(source)
        # A copy shares the dict of fields, which may still be filling up.
        return replace(shared, **added) if added else shared

    def _node(self, source: dict[str, Any]) -> Schema:
        node = Schema(_type(source), format=source.get("format", ""))
        node.required = tuple(source.get("required", ()))
        node.preserve_unknown = source.get("x-kubernetes-preserve-unknown-fields", False)
        node.embedded = source.get("x-kubernetes-embedded-resource", False)
        node.nullable = source.get("nullable", False)
        element = source.get("items") or source.get("additionalProperties")
        if isinstance(element, dict):
            # An element is present or it is not: its default says only that it is no pointer.
            node.element = self._of({k: v for k, v in element.items() if k != "default"})
        for key, value in _additions(source).items():
            setattr(node, key, value)
        return node

    def _fill(self, node: Schema, source: dict[str, Any]) -> None:
        for key, value in source.get("properties", {}).items():
            node.fields[key] = self._of(value)


def _type(source: Mapping[str, Any]) -> Type:
    if source.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    kind: Literal["array", "object", "string", "integer", "number", "boolean", ""]
    kind = source.get("type", "")
    if kind == "array":
        return "list"
    if kind == "object":
        return "map" if isinstance(source.get("additionalProperties"), dict) else "object"
    return kind or "any"


def _additions(source: Mapping[str, Any]) -> dict[str, Any]:
    """What a use of a type may add to it, as attributes of a Schema."""
    added: dict[str, Any] = {}
    if "default" in source:
        added["default"] = source["default"]
    if "x-kubernetes-list-type" in source:
        added["list_type"] = source["x-kubernetes-list-type"]
        added["list_keys"] = tuple(source.get("x-kubernetes-list-map-keys", ()))
    if "x-kubernetes-map-type" in source:
        added["atomic"] = source["x-kubernetes-map-type"] == "atomic"
    strategies = source.get("x-kubernetes-patch-strategy", "").split(",")
    if "merge" in strategies:
        added["merge"] = True
        added["merge_key"] = source.get("x-kubernetes-patch-merge-key", "")
    if "retainKeys" in strategies:
        added["retain_keys"] = True
    return added


def _ref(source: Mapping[str, Any]) -> str | None:
    """The definition a use refers to, be it plainly or (where the use adds something) in allOf."""
    plain = source.get("$ref")
    if plain is None and "allOf" in source:
        plain = source["allOf"][0]["$ref"]
    return plain.removeprefix(REF) if isinstance(plain, str) else None


def _refs(source: Mapping[str, Any]) -> Iterable[str]:
    target = _ref(source)
    if target is not None:
        yield target
    for value in source.get("properties", {}).values():
        yield from _refs(value)
    for key in ("items", "additionalProperties"):
        if isinstance(source.get(key), dict):
            yield from _refs(source[key])


@cache
def load() -> Facts:
    """The facts of the Kubernetes version Atoll serves; read once."""
    written = Path(__file__).with_name("kubernetes.json").read_bytes()
    read = msgspec.json.decode(written, type=_File)
    return Facts(
        kubernetes=read.provenance["kubernetes"],
        kinds=tuple(map(_kind, read.kinds)),
        groups=tuple(map(_group, read.groups)),
        _definitions=_Texts(read.definitions),
        _per_version=frozenset(read.per_version),
        _messages=_Texts(read.messages),
    )


class _File(msgspec.Struct):
    """The file, as far as it is read at once."""

    provenance: dict[str, str]
    kinds: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    per_version: list[str]
    definitions: dict[str, msgspec.Raw]
    messages: dict[str, msgspec.Raw]


def _kind(read: Mapping[str, Any]) -> KindFacts:
    subresources = {name: _subresource(sub) for name, sub in read["subresources"].items()}
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in read.items()}
    return KindFacts(**values | {"subresources": subresources})


def _subresource(read: Mapping[str, Any]) -> SubresourceFacts:
    return SubresourceFacts(tuple(read["verbs"]), read["group"], read["version"], read["kind"])


def _group(read: Mapping[str, Any]) -> GroupFacts:
    versions = (
        VersionFacts(v["version"], v["priority"], tuple(v["roots"])) for v in read["versions"]
    )
    return GroupFacts(read["group"], read["priority"], tuple(versions))
