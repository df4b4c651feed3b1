"""An object made to fit its resource: what decoding does to bodies, and patching to its results.

Built-in kinds are read as Go reads structs; custom ones are pruned by their CRD's schema, their
metadata read like any other. Out: the object as it may be worked on, and what strict reading
complains of (`unknown field "spec.x"`), in Kubernetes' order. Raises Mismatch if it cannot be read.
"""

from dataclasses import dataclass

import orjson

from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.embedded import has_embedded, read_embedded
from atoll.apiserver.schemas.fitting import fits
from atoll.apiserver.schemas.pruning import drop_nulls, prune
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import object_meta
from atoll.apiserver.schemas.typed import read_typed
from atoll.wire import Object

COMPLAINTS_MAX = 100


@dataclass(slots=True)
class Conformed:
    """An object that fits its resource, and what was wrong with it before."""

    object: Object
    complaints: list[str]


def conform(
    resource: Resource, obj: Object, *, patched: bool = False, may_have_nulls: bool = True
) -> Conformed:
    """Make an object fit. Of a patched one, complaints are sorted: its order is nobody's.

    The numbers of a custom object must be settled already (`json_values.settle_numbers`).
    """
    if resource.custom:
        return _conform_custom(resource.schema, obj, may_have_nulls=may_have_nulls)
    if patched and fits(resource.schema, obj):
        # A copy, for what was patched may still be looked at, and what comes of it is filled in.
        return Conformed(orjson.loads(orjson.dumps(obj)), [])
    read, complaints = read_typed(resource.schema, obj)
    texts = list(dict.fromkeys(map(str, complaints)))
    return Conformed(read, (sorted(texts) if patched else texts)[:COMPLAINTS_MAX])


def _conform_custom(schema: Schema, obj: Object, *, may_have_nulls: bool) -> Conformed:
    """Make a custom object fit the shape its CRD gives it."""
    dropped: list[str] = []
    result = obj
    if "metadata" in result:
        given = result["metadata"]
        metadata, complaints = read_typed(object_meta(), {} if given is None else given)
        dropped += sorted(f"metadata.{complaint.path}" for complaint in complaints)
        result = {**result, "metadata": metadata}
    result = prune(schema, result, dropped)
    if may_have_nulls:
        result = drop_nulls(schema, result)
    if has_embedded(schema):
        result = read_embedded(schema, result, dropped)
    unknown = [f'unknown field "{path}"' for path in dict.fromkeys(dropped)]
    return Conformed(result, unknown[:COMPLAINTS_MAX])
