"""The samples and what a real kube-apiserver made of them, and our own catalog to compare with."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from atoll.apiserver.catalog import Catalog
from atoll.apiserver.custom import resources_of
from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.typed import read_typed
from atoll.wire import Wire

HERE = Path(__file__).parent


STAMPS = ("uid", "resourceVersion", "creationTimestamp", "generation", "namespace")


@cache
def recorded(name: str) -> Any:
    return json.loads((HERE / "recorded" / f"{name}.json").read_text())


@cache
def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((HERE / f"{name}.yaml").read_text()))


@cache
def builtins() -> Catalog:
    facts = load()
    return Catalog(builtin_resources(facts), facts)


def with_definitions() -> Catalog:
    """A catalog of its own that also serves the custom kinds of definitions.yaml."""
    facts = load()
    catalog = Catalog(builtin_resources(facts), facts)
    kind = catalog.kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    for definition in documents("definitions"):
        defaulted = json.loads(json.dumps(definition))
        kind.strategy.default(defaulted)
        catalog.put(defaulted["metadata"]["name"], resources_of(defaulted))
    return catalog


def resource_at(path: str, catalog: Catalog | None = None) -> Resource:
    """The resource at the path of a collection."""
    first, *rest = path.strip("/").split("/")
    group, version = ("", rest[0]) if first == "api" else (rest[0], rest[1])
    found = (catalog or builtins()).find(group, version, rest[-1])
    assert found is not None, path
    return found


def born(resource: Resource, proposed: Wire, stamps: Wire) -> Wire:
    """An object as the create pipeline makes it: read, stamped, defaulted, prepared."""
    obj, complaints = read_typed(resource.schema, proposed)
    assert not complaints
    obj["metadata"] |= stamps
    resource.strategy.default(obj)
    resource.strategy.prepare_create(obj)
    return obj
