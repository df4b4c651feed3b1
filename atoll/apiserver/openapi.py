"""OpenAPI v3: one document per group and version, and the index of them; v2: one of everything.

Built-in schemas come from the facts, custom ones from their CRD. Nothing is built until somebody
asks. The index needs only hashes, and these are taken from what a document is made of rather than
from the document; so a document is built when it is asked for, and kept until its hash changes:
gzipped, for they are large, seldom asked for, and nearly every client takes them so.
"""

import gzip
from collections.abc import Mapping
from hashlib import sha512
from typing import Any

import orjson

from atoll.apiserver.catalog import Catalog, subresources
from atoll.apiserver.discovery import Document
from atoll.apiserver.openapi_protobuf import encode
from atoll.apiserver.openapi_v2 import swagger
from atoll.apiserver.operations import META, REF, SPOKEN, paths_of
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import Facts
from atoll.wire import Wire

_GVK = "x-kubernetes-group-version-kind"


def custom_name(resource: Resource) -> str:
    """What a custom kind is called among schemas: io.example.v1.Widget for example.io."""
    reversed_group = ".".join(reversed(resource.group.split(".")))
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def custom_schemas(resource: Resource, name: str) -> Wire:
    """The schemas of a custom kind and of its lists, as published."""
    listed = f"{resource.kind}List" if not resource.list_kind else resource.list_kind
    return {
        name: _published(resource) | {_GVK: [_kind(resource, resource.kind)]},
        f"{name}List": {
            "description": f"{listed} is a list of {resource.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": REF + name}},
                "kind": {"type": "string"},
                "metadata": {"allOf": [{"$ref": f"{REF}{META}ListMeta"}]},
            },
            _GVK: [_kind(resource, listed)],
        },
    }


def _kind(resource: Resource, kind: str) -> Wire:
    return {"group": resource.group, "kind": kind, "version": resource.version}


def _published(resource: Resource) -> Wire:
    """The schema of a version of a CRD, with what every object has."""
    assert resource.definition is not None
    versions = resource.definition["spec"]["versions"]
    version = next(v for v in versions if v["name"] == resource.version)
    declared = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    schema: Wire = _plain(declared)
    schema["properties"] = _of_an_object(schema)
    return schema


def _of_an_object(schema: Wire) -> Wire:
    """The properties of what is an object of its own; those that all have are not for declaring."""
    return {
        **schema.get("properties", {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": f"{REF}{META}ObjectMeta"}]},
    }


def _plain(schema: Any) -> Any:
    """A CRD's schema in the words of OpenAPI v3; what it says in Kubernetes' own is spelled out."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(value) for key, value in schema.items()}
    if plain.get("x-kubernetes-int-or-string") is True and "anyOf" not in plain:
        plain["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if plain.get("x-kubernetes-embedded-resource") is True:
        plain["properties"] = _of_an_object(plain)
        required = plain.get("required", [])
        named = [name for name in ("kind", "apiVersion") if name not in required]
        plain["required"] = [*required, *named]
    return plain


_OF_AN_OBJECT = {
    "apiVersion": "APIVersion defines by which group and version of the API the object is written.",
    "kind": "Kind is the name of the sort of object that this is.",
    "metadata": "Standard object's metadata: what every object has, of whatever kind it is.",
}
_OF_METADATA = {
    "annotations": "Annotations are notes of any sort by name, which nobody selects objects by.",
    "creationTimestamp": "CreationTimestamp is a timestamp: when the server made the object.",
    "deletionGracePeriodSeconds": "How many seconds the object has left, once it is being deleted.",
    "deletionTimestamp": "When the object is to be gone; set by the server when it is deleted.",
    "finalizers": "Who must agree, by taking its name off this list, before the object is gone.",
    "generateName": "What the name begins with, where the server is to find the rest.",
    "generation": "How often what is wanted of the object has changed; counted by the server.",
    "labels": "Labels are names and values that objects are selected by.",
    "managedFields": "Which manager last said what about which fields; kept by the server.",
    "name": "The name, which no other object of the kind has in the same namespace.",
    "namespace": "The namespace in which the name is unique.",
    "ownerReferences": "The objects that this one belongs to; when all are gone, it goes as well.",
    "resourceVersion": "Which state of the object this is; to be sent back to change no other.",
    "selfLink": "No longer set.",
    "uid": "Tells the object from all others, of the same name too, for all time.",
}


def in_words(definition: str, schema: Wire) -> Wire:
    """A definition with sentences for the fields that all objects have."""
    if definition == META + "ObjectMeta":
        return _described(schema, _OF_METADATA)
    if "metadata" in schema.get("properties", ()):
        return _described(schema, _OF_AN_OBJECT)
    return schema


def _described(schema: Wire, sentences: Mapping[str, str]) -> Wire:
    properties = {
        name: {"description": sentences[name], **each} if name in sentences else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}


_SHARED_ROOTS = tuple(META + name for name in ("DeleteOptions", "ListMeta", "Patch", "Status"))
_LEVEL = 1
_FORM = "3"  # to be raised when documents change although what they are made of does not


class OpenApi:
    """The OpenAPI documents of a catalog."""

    def __init__(self, catalog: Catalog, facts: Facts) -> None:
        self._catalog = catalog
        self._facts = facts
        self._hashes: tuple[int, dict[str, str]] = (0, {})
        self._documents: dict[str, Document] = {}
        self._swagger: dict[str, Document] = {}
        self._kinds = {(k.group, k.version, k.kind): k.definition for k in facts.kinds}

    def index(self, behind: Mapping[str, str] | None = None) -> Document:
        """The document at /openapi/v3: where the others are, with the hash of each.

        `behind` are those of servers behind this one.
        """
        here = {
            path: f"/openapi/v3/{path}?hash={digest}" for path, digest in self._all_hashes().items()
        }
        places = sorted({**here, **(behind or {})}.items())
        paths = {path: {"serverRelativeURL": place} for path, place in places}
        return Document(orjson.dumps({"paths": paths}), "text/plain; charset=utf-8")

    def hash_of(self, path: str) -> str | None:
        """The hash of the document at /openapi/v3/{path}; None if there is none."""
        return self._all_hashes().get(path)

    def document(self, path: str) -> Document | None:
        """The document of a path such as api/v1, gzipped; its etag is its quoted hash."""
        digest = self.hash_of(path)
        if digest is None:
            return None
        kept = self._documents.get(path)
        if kept is None or kept.etag != f'"{digest}"':
            body = orjson.dumps(self._build(self._resources(path)))
            kept = Document(gzip.compress(body, _LEVEL, mtime=0), etag=f'"{digest}"')
            self._documents[path] = kept
        return kept

    def swagger(self, content_type: str) -> Document:
        """The document at /openapi/v2, gzipped, as JSON or, if that is the type, as protobuf."""
        hashes = "".join(self._all_hashes().values())
        etag = f'"{sha512(hashes.encode()).hexdigest().upper()}"'
        kept = self._swagger.get(content_type)
        if kept is None or kept.etag != etag:
            versions = self._catalog.index.versions.values()
            found = swagger(map(self._build, versions), self._facts.kubernetes)
            body = encode(found) if "protobuf" in content_type else orjson.dumps(found)
            kept = Document(gzip.compress(body, _LEVEL, mtime=0), content_type, etag)
            self._swagger[content_type] = kept
        return kept

    def _all_hashes(self) -> dict[str, str]:
        index = self._catalog.index
        if self._hashes[0] != index.generation:
            hashes = {
                f"apis/{group}/{version}" if group else f"api/{version}": self._hash(resources)
                for (group, version), resources in index.versions.items()
            }
            self._hashes = (index.generation, hashes)
            self._documents = {p: d for p, d in self._documents.items() if p in hashes}
        return self._hashes[1]

    def _hash(self, resources: tuple[Resource, ...]) -> str:
        parts = [_FORM, self._facts.kubernetes]
        for resource in resources:
            parts += [resource.plural, resource.kind]
            if resource.definition is not None:
                parts.append(orjson.dumps(resource.definition["spec"]).decode())
        return sha512("\0".join(parts).encode()).hexdigest().upper()

    def _resources(self, path: str) -> tuple[Resource, ...]:
        *_, group, version = ["", *path.split("/")[1:]]
        return self._catalog.index.versions[group, version]

    def _build(self, resources: tuple[Resource, ...]) -> Wire:
        """One document: the paths of these resources, and every schema they mention."""
        custom = all(resource.custom for resource in resources)
        paths: Wire = {}
        schemas: Wire = {}
        roots = list(_SHARED_ROOTS)
        for resource in resources:
            definition = self._definition(resource)
            paths.update(paths_of(resource, definition))
            if resource.custom:
                made = custom_schemas(resource, definition)
                schemas |= {name: in_words(name, schema) for name, schema in made.items()}
                roots.append(META + "ObjectMeta")
            else:
                roots += [definition, *([f"{definition}List"] if resource.stored else [])]
            roots += [SPOKEN[sub.kind] for sub in subresources(resource) if sub.kind in SPOKEN]
        place = (resources[0].group, resources[0].version)
        for name in self._facts.closure(roots):
            schemas[name] = in_words(name, self._facts.openapi(name, *place))
        title, version = "Kubernetes", self._facts.kubernetes
        if custom:
            title, version = "Kubernetes CRD Swagger", "v0.1.0"
        return {
            "openapi": "3.0.0",
            "info": {"title": title, "version": version},
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": dict(sorted(schemas.items()))},
        }

    def _definition(self, resource: Resource) -> str:
        if resource.custom:
            return custom_name(resource)
        return self._kinds[resource.group, resource.version, resource.kind]
