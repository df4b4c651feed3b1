"""Objects as webhooks see them, and what their patches make of the object that is written.

A webhook may want another version, or, at the scale subresource, a Scale. A new object is shown to
those who may change it before the server has stamped it.
"""

from dataclasses import replace
from typing import Any

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.bodies.decoding import conform
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.paths import at, put
from atoll.apiserver.patching.json_patch import apply_json_patch
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.json_values import settle_numbers
from atoll.apiserver.schemas.mismatch import Mismatch
from atoll.apiserver.status import ApiError
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.converting import as_version
from atoll.apiserver.verbs.scaling import scale_of
from atoll.apiserver.webhooks.reviews import Seen
from atoll.wire import Wire

_STAMPS = ("uid", "creationTimestamp", "generation")


async def seen_by(api: Api, admission: Admission, resource: Resource, *, mutating: bool) -> Seen:
    """A write as a webhook that wants this version is to see it."""
    obj, name = admission.object, admission.name
    if admission.is_unnamed and (mutating or admission.operation == "DELETE"):
        name = ""
    if mutating and obj is not None and admission.old is None:
        obj = _unstamped(obj, is_unnamed=admission.is_unnamed)
    shown = await _shown(api, admission, resource, obj)
    old = await _shown(api, admission, resource, admission.old)
    return Seen(admission, resource, name, shown, old)


def _unstamped(obj: Wire, *, is_unnamed: bool) -> Wire:
    hidden = (*_STAMPS, "name") if is_unnamed else _STAMPS
    meta = {key: value for key, value in metadata(obj).items() if key not in hidden}
    return {**obj, "metadata": meta}


async def _shown(
    api: Api, admission: Admission, resource: Resource, obj: Wire | None
) -> Wire | None:
    if obj is None:
        return None
    obj = await as_version(api, obj, admission.resource, resource)
    scale = resource.strategy.scale
    return scale_of(scale, obj) if admission.subresource == "scale" and scale else obj


class Unfit(Exception):
    """A patch that cannot be carried out, or whose result is no object of its kind."""


async def patched(api: Api, seen: Seen, operations: list[Any]) -> Wire:
    """The object that is written, after a patch to what a webhook has seen; Unfit if it fails.

    What the patch leaves of another version, or of what the server stamps, is as it was.
    """
    admission, resource = seen.admission, seen.resource
    assert admission.object is not None, "only creations and updates are mutated"
    changed = _after(seen.object, operations)
    scale = resource.strategy.scale
    if admission.subresource == "scale" and scale:
        replicas = at(changed, ("spec", "replicas")) or 0
        if type(replicas) is not int:
            raise Unfit("spec.replicas of a Scale must be a whole number")
        return put(admission.object, scale.spec_replicas, replicas)
    try:
        obj = conform(resource, settle_numbers(_copied(changed)), patched=True).object
    except Mismatch as error:
        raise Unfit(error.message()) from error
    resource.strategy.default(obj)
    obj = await as_version(api, obj, resource, admission.resource)
    before = metadata(admission.object)
    kept = {key: before[key] for key in (*_STAMPS, "name") if key in before}
    return {**obj, "metadata": {**metadata(obj), **kept}}


def _after(obj: Any, operations: list[Any]) -> Wire:
    for operation in operations:
        try:
            obj = apply_json_patch(obj, [operation])
        except ApiError as error:
            raise Unfit(_why(operation, error)) from error
    if not isinstance(obj, dict):
        raise Unfit(f"json: cannot unmarshal {type(obj).__name__} into an object")
    return obj


def _why(operation: Any, error: ApiError) -> str:
    kind, path = (
        operation.get(key, "") if isinstance(operation, dict) else "" for key in ("op", "path")
    )
    if error.code != 422:
        return error.message
    if kind == "test":
        return f"testing value {path} failed: test failed"
    if kind not in ("add", "remove", "replace", "move", "copy"):
        return f"Unexpected kind: {kind}"
    return f'{kind} operation does not apply: doc is missing path: "{path}": missing value'


def _copied(obj: Wire) -> Wire:
    copied: Wire = orjson.loads(orjson.dumps(obj))
    return copied


def with_object(admission: Admission, obj: Wire) -> Admission:
    return replace(admission, object=obj)
