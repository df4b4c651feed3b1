"""Conversion webhooks of custom resources: objects in one version go out, in another come in.

What comes back is not trusted: it must be the same objects in the version that was wanted, and only
their labels and annotations may differ in metadata. What goes wrong is told in Kubernetes' words.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from atoll.apiserver.kinds.reading import items, part, text
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.json_values import settle_numbers
from atoll.apiserver.status import plain_500
from atoll.apiserver.webhooks.calling import CallFailed, Calling
from atoll.apiserver.webhooks.reviews import BadAnswer, check_uid, read_answer, spoken_version
from atoll.effects import Chance
from atoll.wire import Wire

TIMEOUT_S = 30
_GROUP = "apiextensions.k8s.io"
_KIND = "ConversionReview"
_FREE = ("labels", "annotations")


class Conversions:
    """Converts by the webhooks that definitions name."""

    def __init__(self, calling: Calling, chance: Chance) -> None:
        self._calling = calling
        self._chance = chance

    async def convert(
        self, resource: Resource, objects: Sequence[Wire], api_version: str
    ) -> list[Wire]:
        """These objects in this version; ApiError if the webhook of the resource fails."""
        old = [obj for obj in objects if obj.get("apiVersion") != api_version]
        if not old:
            return list(objects)
        new = iter(await self._converted(resource, old, api_version))
        return [obj if obj.get("apiVersion") == api_version else next(new) for obj in objects]

    async def _converted(
        self, resource: Resource, objects: list[Wire], api_version: str
    ) -> list[Wire]:
        webhook = resource.conversion
        assert webhook is not None, "only these are converted by others"
        about = f"conversion webhook for {_shown(objects[0])}"
        version = spoken_version(items(webhook, "conversionReviewVersions"))
        if version is None:
            raise plain_500("no supported conversion review versions")
        uid = self._chance.uuid("reviews")
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        review = {"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request}
        config = part(webhook, "clientConfig")
        try:
            answer = await self._calling.call(config, orjson.dumps(review), TIMEOUT_S)
            found = _objects(answer, uid, version)
        except CallFailed as error:
            raise plain_500(f"{about} failed: {error.reason}") from error
        except BadAnswer as error:
            raise plain_500(f"{about} failed: {error}") from error
        if len(found) != len(objects):
            counts = f"{len(found)} objects, expected {len(objects)}"
            raise plain_500(f"{about} returned {counts}")
        return [
            _checked(before, after, api_version, f"{about} returned invalid")
            for before, after in zip(objects, found, strict=True)
        ]


def _shown(obj: Wire) -> str:
    return f"{obj.get('apiVersion', '')}, Kind={obj.get('kind', '')}"


def _objects(body: bytes, uid: str, version: str) -> list[Any]:
    review = read_answer(body)
    expected = f"{_GROUP}/v1, Kind={_KIND}"
    if version == "v1" and _shown(review) != expected:
        raise BadAnswer(f"expected webhook response of {expected}, got {_shown(review)}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise BadAnswer("no response provided")
    if version == "v1":
        check_uid(response, uid)
    result = part(response, "result")
    status = text(result, "status")
    if status != "Success":
        why = f"response.result.status was '{status}', not 'Success'"
        raise BadAnswer(text(result, "message") or why)
    return items(response, "convertedObjects")


def _checked(before: Wire, after: Any, api_version: str, prefix: str) -> Wire:
    if not isinstance(after, dict):
        raise plain_500(f"{prefix} object: it is none")
    if after.get("apiVersion") != api_version:
        wrong = f"(expected {api_version}, received {after.get('apiVersion', '')})"
        raise plain_500(f"{prefix} object at index 0: invalid groupVersion {wrong}")
    if after.get("kind") != before["kind"]:
        wrong = f"(expected {before['kind']}, received {after.get('kind', '')})"
        raise plain_500(f"{prefix} object at index 0: invalid kind {wrong}")
    meta = after.get("metadata")
    if not isinstance(meta, dict):
        raise plain_500(f"{prefix} metadata: missing metadata in converted object")
    kept = metadata(before)
    for key, told in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if kept.get(key, "") != meta.get(key, ""):
            wrong = f"{kept.get(key, '')} != {meta.get(key, '')}"
            raise plain_500(f"{prefix} object: must have the same {told}: {wrong}")
    settled: Wire = settle_numbers(after)
    return {**settled, "metadata": _restored(kept, meta, prefix)}


def _restored(before: Wire, after: Wire, prefix: str) -> Wire:
    """The metadata as it was, with the labels and annotations that it has now."""
    meta = {key: value for key, value in before.items() if key not in _FREE}
    for key in _FREE:
        free = after.get(key)
        if free is None:
            continue
        if not isinstance(free, dict) or not all(isinstance(each, str) for each in free.values()):
            raise plain_500(f"{prefix} metadata: metadata.{key} must be texts by their names")
        if free:
            meta[key] = free
    return meta
