"""What is said to an admission webhook and what it says: AdmissionReviews out and in. Pure.

Both versions of the review are spoken; they differ only in how strictly an answer is read.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.authentication import user_info
from atoll.apiserver.catalog import subresources
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError
from atoll.wire import Wire

_VERSIONS = ("v1", "v1beta1")


class BadAnswer(Exception):
    """The answer of a webhook makes no sense; told in Kubernetes' words."""


def spoken_version(accepted: Sequence[str]) -> str | None:
    """The version of a review to send to one who understands these; None if there is none."""
    return next((version for version in accepted if version in _VERSIONS), None)


def read_answer(body: bytes) -> Wire:
    """The review that comes back."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadAnswer(f"the answer is no JSON: {error}") from None
    if not isinstance(review, dict):
        raise BadAnswer("the answer is no object")
    return review


def check_uid(response: Wire, uid: str) -> None:
    """BadAnswer if it answers another question."""
    given = response.get("uid", "")
    if given != uid:
        raise BadAnswer(f'expected response.uid="{uid}", got "{given}"')


_GROUP = "admission.k8s.io"
_KIND = "AdmissionReview"
WARNINGS_MAX, WARNING_MAX = 4096, 256


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook has decided."""

    is_allowed: bool
    status: Wire
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]
    annotations: Wire


@dataclass(frozen=True, slots=True)
class Seen:
    """A write as one webhook is to see it."""

    admission: Admission
    resource: Resource  # the version in which it wants to see it
    name: str
    object: Wire | None
    old: Wire | None


def request_of(seen: Seen, uid: str, version: str) -> Wire:
    """The review to send."""
    admission = seen.admission
    request: Wire = {
        "uid": uid,
        "kind": _kind(seen.resource, admission.subresource),
        "resource": _resource(seen.resource),
        "requestKind": _kind(admission.resource, admission.subresource),
        "requestResource": _resource(admission.resource),
        "operation": admission.operation,
        "userInfo": user_info(admission.identity),
        "object": seen.object,
        "oldObject": seen.old,
        "dryRun": admission.dry_run,
        "options": admission.options() or None,
    }
    namespace = admission.namespace
    if admission.resource.plural == "namespaces" and not admission.resource.group:
        namespace = seen.name
    named = {
        "subResource": admission.subresource,
        "requestSubResource": admission.subresource,
        "name": seen.name,
        "namespace": namespace,
    }
    request |= {key: value for key, value in named.items() if value}
    return {"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request}


def _kind(resource: Resource, subresource: str) -> Wire:
    for below in subresources(resource) if subresource else ():
        if below.name == subresource:
            return {"group": below.group, "version": below.version, "kind": below.kind}
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Wire:
    named = {"group": resource.group, "version": resource.version}
    return named | {"resource": resource.plural}


def verdict_of(body: bytes, uid: str, version: str, *, mutating: bool) -> Verdict:
    """What an answer says; BadAnswer if it says nothing that can be understood."""
    review = read_answer(body)
    response = review.get("response")
    if response is None:
        raise BadAnswer("webhook response was absent")
    if not isinstance(response, dict):
        raise BadAnswer("webhook response was no object")
    if version == "v1":
        _check_identity(review, response, uid)
    patch, patch_type = _patch(response)
    if version == "v1":
        _check_patch(patch, patch_type, mutating=mutating)
    status = response.get("status")
    warnings, annotations = response.get("warnings"), response.get("auditAnnotations")
    return Verdict(
        is_allowed=response.get("allowed") is True,
        status=status if isinstance(status, dict) else {},
        patch=patch if mutating else b"",
        patch_type=patch_type or "JSONPatch",
        warnings=_bounded(warnings if isinstance(warnings, list) else []),
        annotations=annotations if isinstance(annotations, dict) else {},
    )


def _bounded(given: list[Any]) -> tuple[str, ...]:
    """Warnings become headers; as in Kubernetes, many or long ones are cut."""
    warnings = [each for each in given if isinstance(each, str)]
    if sum(map(len, warnings)) <= WARNINGS_MAX:
        return tuple(warnings)
    cut = [each[:WARNING_MAX] for each in warnings]
    return tuple(cut[: WARNINGS_MAX // WARNING_MAX])


def _check_identity(review: Wire, response: Wire, uid: str) -> None:
    check_uid(response, uid)
    group, _, version = str(review.get("apiVersion", "")).rpartition("/")
    got = f"{group}/{version}, Kind={review.get('kind', '')}"
    expected = f"{_GROUP}/v1, Kind={_KIND}"
    if got != expected:
        raise BadAnswer(f"expected webhook response of {expected}, got {got}")


def _patch(response: Wire) -> tuple[bytes, str | None]:
    try:
        patch = base64.b64decode(response.get("patch") or "", validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise BadAnswer(f"response.patch is no base64: {error}") from None
    patch_type = response.get("patchType")
    return patch, patch_type if isinstance(patch_type, str) else None


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    if not mutating:
        if patch:
            raise BadAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise BadAnswer("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise BadAnswer("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise BadAnswer('webhook returned invalid response.patchType of ""')


def denial(name: str, status: Wire) -> ApiError:
    """What the client is told when a webhook refuses."""
    denied = f'admission webhook "{name}" denied the request'
    message, reason = status.get("message"), status.get("reason")
    code = status.get("code")
    said = f"{denied}: {message or reason}" if message or reason else None
    details = status.get("details")
    return ApiError(
        code if isinstance(code, int) and 400 <= code <= 599 else 400,
        reason if isinstance(reason, str) else "",
        said or f"{denied} without explanation",
        details=details if isinstance(details, dict) else None,
    )
