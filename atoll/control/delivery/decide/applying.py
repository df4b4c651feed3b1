"""One manifest against what the member has: create, correct, leave alone, or say why it cannot be.

Comes in: the manifest of a Work, the member's object of that name, and what came of our last
attempt. Goes out: an action in that cluster, or a reason in words. What the member itself fills in
is told from drift by the version its object had after our write. Knows nothing of conditions, of
deletion or of any kind's own fields; those a member may keep come from `retain`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.dialects.karmada import names
from atoll.dialects.karmada import ordinals as splitting
from atoll.errors import AtollError
from atoll.model.action import Create, Ref, Update
from atoll.model.work import Work
from atoll.wire import Object

Retain = Callable[[Object, Object], Object]

OVERWRITE = "overwrite"
_OF_THE_SERVER = ("apiVersion", "kind", "metadata", "status")
_DECIDED_ON = ("uid", "resourceVersion")
_OUR_LABELS = (
    names.MANAGED,
    names.WORK_ID,
    names.BINDING_ID,
    names.CLUSTER_BINDING_ID,
    names.POLICY_ID,
    names.CLUSTER_POLICY_ID,
)
_OUR_ANNOTATIONS = (
    names.MANAGED_LABELS,
    names.MANAGED_ANNOTATIONS,
    names.BINDING_NAMESPACE,
    names.BINDING_NAME,
    names.CLUSTER_BINDING_NAME,
    names.POLICY_NAMESPACE,
    names.POLICY_NAME,
    names.CLUSTER_POLICY_NAME,
    names.TEMPLATE_UID,
    names.TEMPLATE_GENERATION,
    names.WORK_NAMESPACE,
    names.WORK_NAME,
    names.CONFLICT_RESOLUTION,
    splitting.STEP,
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of the last write of a manifest: the version it got, or why it was refused."""

    manifest: Object
    version: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """How a manifest stands in its cluster: what to do next, and what is in the way.

    With neither it is there as it should be.
    """

    manifest: Object
    observed: Object | None = None
    action: Create | Update | None = None
    failure: str = ""


def version_of(observed: Object) -> str:
    """What an object's version is known by: its generation, which status does not touch, if any."""
    metadata = observed.get("metadata") or {}
    generation = metadata.get("generation")
    return f"gen:{generation}" if generation else f"rv:{metadata.get('resourceVersion', '')}"


def is_marked(observed: Object, work: Work) -> bool:
    """Whether an object in a member says that it was made from this Work."""
    return _is_managed(observed) and _maker(observed) == work.key


def find(
    manifest: Object,
    work: Work,
    observed: Object | None,
    attempt: Attempt | None,
    retain: Retain,
) -> Finding:
    """How a manifest of a Work stands in its cluster.

    A write that was refused is planned again; when is for whoever carries it out to decide.
    """
    cluster = work.cluster
    if attempt is not None and attempt.manifest != manifest:
        attempt = None
    refusal = ""
    if attempt is not None and attempt.refusal:
        refusal = f"cluster {cluster} refused {Ref.of(manifest)}: {attempt.refusal}"
    desired = _marked(manifest, work)
    if observed is None:
        return Finding(manifest, None, Create(desired, at=cluster), refusal)
    if (observed.get("metadata") or {}).get("deletionTimestamp"):
        leaving = f"{Ref.of(manifest)} is being deleted in cluster {cluster}"
        return Finding(manifest, observed, failure=f"{leaving}; it is made anew once it is gone")
    if not _may_write(desired, work, observed):
        return Finding(manifest, observed, failure=_conflict(manifest, cluster))
    try:
        wanted = _wanted(desired, observed, retain)
    except AtollError as failed:
        problem = f"{Ref.of(manifest)}: cannot tell which fields cluster {cluster} keeps: {failed}"
        return Finding(manifest, observed, failure=problem)
    if _agrees(wanted, observed, attempt):
        return Finding(manifest, observed)
    return Finding(manifest, observed, Update(wanted, at=cluster), refusal)


def released(observed: Object) -> Object:
    """The object without anything of ours on it: it belongs to its cluster from now on."""
    metadata = observed["metadata"]
    return {
        **observed,
        "metadata": {
            **metadata,
            "labels": _without(metadata.get("labels"), _OUR_LABELS),
            "annotations": _without(metadata.get("annotations"), _OUR_ANNOTATIONS),
        },
    }


def _without(texts: Mapping[str, str] | None, keys: Iterable[str]) -> dict[str, str]:
    return {key: value for key, value in (texts or {}).items() if key not in keys}


def _labels(wire: Object) -> Mapping[str, str]:
    return (wire.get("metadata") or {}).get("labels") or {}


def _annotations(wire: Object) -> Mapping[str, str]:
    return (wire.get("metadata") or {}).get("annotations") or {}


def _is_managed(observed: Object) -> bool:
    return _labels(observed).get(names.MANAGED) == "true"


def _maker(observed: Object) -> tuple[str, str]:
    known = _annotations(observed)
    return known.get(names.WORK_NAMESPACE, ""), known.get(names.WORK_NAME, "")


def _may_write(desired: Object, work: Work, observed: Object) -> bool:
    """Ours, even if someone took off the annotations; or given to us by whoever asked for it."""
    if _is_managed(observed) and _maker(observed) in (work.key, ("", "")):
        return True
    asked = _annotations(desired).get(names.CONFLICT_RESOLUTION)
    return (asked or work.meta.annotations.get(names.CONFLICT_RESOLUTION)) == OVERWRITE


def _conflict(manifest: Object, cluster: str) -> str:
    # Users and tools know this sentence from Karmada.
    ref = Ref.of(manifest)
    return (
        f"resource(kind={ref.kind}, {ref.namespace}/{ref.name}) already exists in the cluster "
        f"{cluster} and the {names.CONFLICT_RESOLUTION} strategy value is empty, "
        "Karmada will not manage this resource"
    )


def _marked(manifest: Object, work: Work) -> dict[str, Any]:
    """The manifest with the marks by which we know our own, whoever wrote the Work."""
    namespace, name = work.key
    marks = {names.WORK_NAMESPACE: namespace, names.WORK_NAME: name}
    return {
        **manifest,
        "metadata": {
            **manifest["metadata"],
            "labels": {**_labels(manifest), names.MANAGED: "true"},
            "annotations": {**_annotations(manifest), **marks},
        },
    }


def _wanted(desired: Object, observed: Object, retain: Retain) -> dict[str, Any]:
    """What the member's object should become: ours, with what is the member's own kept."""
    kept = {key: value for key, value in observed["metadata"].items() if key != "managedFields"}
    formerly = _annotations(observed)
    metadata = {
        **kept,
        "labels": _merged(_labels(desired), _labels(observed), formerly.get(names.MANAGED_LABELS)),
        "annotations": _merged(
            _annotations(desired), formerly, formerly.get(names.MANAGED_ANNOTATIONS)
        ),
    }
    retained = retain({**desired, "metadata": metadata}, observed)
    # Whatever a user's script makes of it: it is what was seen that may be replaced.
    seen = {key: kept[key] for key in _DECIDED_ON if key in kept}
    # A kind without a status subresource would lose its status to a write that leaves it out.
    status = {"status": observed["status"]} if "status" in observed else {}
    return {**retained, "metadata": {**retained["metadata"], **seen}, **status}


def _merged(
    ours: Mapping[str, str], theirs: Mapping[str, str], formerly: str | None
) -> dict[str, str]:
    """Ours, and what others added: not what we once sent and send no more."""
    dropped = (formerly or "").split(",")
    return {**_without(theirs, dropped), **ours}


def _agrees(wanted: Object, observed: Object, attempt: Attempt | None) -> bool:
    """Whether a write would change nothing that is ours to say."""
    if _labels(wanted) != _labels(observed) or _annotations(wanted) != _annotations(observed):
        return False
    if _without_server(wanted) == _without_server(observed):
        return True
    # The member's rendering of our last write: defaults and spellings of its own.
    return attempt is not None and attempt.version == version_of(observed)


def _without_server(wire: Object) -> dict[str, Any]:
    return {key: value for key, value in wire.items() if key not in _OF_THE_SERVER}
