"""OpenAPI v3: one document per group and version, and the index of them; v2: one of everything.

Built-in schemas come from the facts, custom ones from their CRD. Nothing is built until somebody
asks. The index needs only hashes, and these are taken from what a document is made of rather than
from the document; so a document is built when it is asked for, and kept until its hash changes:
gzipped, for they are large, seldom asked for, and nearly every client takes them so.
"""

import gzip
from collections.abc import Mapping
from hashlib import sha512

import orjson

from atoll.apiserver.catalog import Catalog, subresources
from atoll.apiserver.discovery import Document
from atoll.apiserver.openapi_custom import custom_name, custom_schemas
from atoll.apiserver.openapi_protobuf import encode
from atoll.apiserver.openapi_v2 import swagger
from atoll.apiserver.openapi_words import in_words
from atoll.apiserver.operations import META, SPOKEN, paths_of
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import Facts
from atoll.wire import Object

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

    def _build(self, resources: tuple[Resource, ...]) -> Object:
        """One document: the paths of these resources, and every schema they mention."""
        custom = all(resource.custom for resource in resources)
        paths: Object = {}
        schemas: Object = {}
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
