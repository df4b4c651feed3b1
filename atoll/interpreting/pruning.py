"""A template as it goes into a Work: without what an API server or a controller filled in.

A template comes in, the manifest goes out. What is added to a manifest (labels, annotations that
say where it came from) is added elsewhere.
"""

from collections.abc import Callable, Mapping
from typing import Any

from atoll.dialects.wire import checked, elements, flag, part, parts, text
from atoll.interpreting.fields import inner, removed, without
from atoll.interpreting.kinds import (
    CLAIM,
    DEPLOYMENT,
    JOB,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
    kind_of,
    named,
)
from atoll.wire import Object

TOKEN = "kubernetes.io/service-account-token"
_FILLED_IN = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    "ownerReferences",
    "finalizers",
)
_JOB_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")


def prune(template: Object) -> dict[str, Any]:
    """The manifest of a template."""
    manifest = dict(without(template, ("status",)))
    if template.get("metadata") is not None:
        manifest["metadata"] = without(checked(template["metadata"], "metadata"), _FILLED_IN)
    special = _PRUNED.get(kind_of(template))
    return dict(special(manifest)) if special else manifest


def _deployment(manifest: Object) -> Object:
    prefix = "deployment.kubernetes.io/"
    return _without_annotations(manifest, prefix + "revision", prefix + "revision-history")


def _job(manifest: Object) -> Object:
    """Without its generated selector, and without a time to live: the plane keeps what it sent."""
    manifest = removed(manifest, ("spec", "ttlSecondsAfterFinished"))
    if flag(inner(manifest, "spec"), "manualSelector", "spec", default=False):
        return manifest
    for label in _JOB_UID:
        manifest = removed(manifest, ("spec", "selector", "matchLabels", label))
    for label in _JOB_UID + _JOB_NAME:
        manifest = removed(manifest, ("spec", "template", "metadata", "labels", label))
    return manifest


def _service_account(manifest: Object) -> Object:
    """Without the tokens that were made for it."""
    made = f"{named(manifest, 'name')}-token-"
    kept = [
        each
        for here, each in parts(manifest, "secrets", "")
        if not text(each, "name", here).startswith(made)
    ]
    if len(kept) == len(elements(manifest, "secrets", "")):
        return manifest
    return {**manifest, "secrets": kept} if kept else without(manifest, ("secrets",))


def _service(manifest: Object) -> Object:
    """Without its addresses; to have none is a wish, and stays."""
    spec = part(manifest, "spec", "")
    if spec is None or text(spec, "clusterIP", "spec") == "None":
        return manifest
    return {**manifest, "spec": without(spec, ("clusterIP", "clusterIPs"))}


def _secret(manifest: Object) -> Object:
    if text(manifest, "type", "") != TOKEN:
        return manifest
    return without(_without_annotations(manifest, "kubernetes.io/service-account.uid"), ("data",))


def _claim(manifest: Object) -> Object:
    return _without_annotations(manifest, "volume.kubernetes.io/selected-node")


def _without_annotations(manifest: Object, *keys: str) -> Object:
    for key in keys:
        manifest = removed(manifest, ("metadata", "annotations", key))
    return manifest


_PRUNED: Mapping[Kind, Callable[[Object], Object]] = {
    DEPLOYMENT: _deployment,
    JOB: _job,
    SERVICE_ACCOUNT: _service_account,
    SERVICE: _service,
    SECRET: _secret,
    CLAIM: _claim,
}
