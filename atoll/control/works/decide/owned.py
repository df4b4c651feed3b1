"""Works that no binding makes: they are owned by an object of the plane, and go when it goes.

A manifest, the cluster it is for and the Work that stands there come in; the Work as it should be
goes out, changed only where it must be. Who owns it, and why, is for others to know.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from atoll.dialects.karmada import names
from atoll.model.action import Object, Ref

WORK = "work.karmada.io/v1alpha1"


def work_ref(cluster: str, manifest: Object) -> Ref:
    """Which Work brings a cluster-wide object to a cluster."""
    name = names.work_name(manifest["kind"], manifest["metadata"]["name"])
    return Ref(WORK, "Work", names.execution_namespace(cluster), name)


def marked(manifest: Object, work: Ref, **marks: str) -> Object:
    """The manifest as it says itself from which Work it comes."""
    metadata = manifest["metadata"]
    where = {names.WORK_NAMESPACE: work.namespace, names.WORK_NAME: work.name}
    return {
        **manifest,
        "metadata": {
            **metadata,
            "labels": {**(metadata.get("labels") or {}), names.MANAGED: "true"},
            "annotations": {**(metadata.get("annotations") or {}), **where, **marks},
        },
    }


def work_id_of(standing: Object | None, new_id: str) -> str:
    """The id that a Work has, or is given."""
    labels = ((standing or {}).get("metadata") or {}).get("labels") or {}
    return labels.get(names.WORK_ID) or new_id


def owned_work(
    owner: Object,
    work: Ref,
    standing: Object | None,
    manifest: Object,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The Work as it should be; `manifest` carries its id, `annotations` are those it shall have.

    Whatever else stands in it stays.
    """
    metadata = (standing or {}).get("metadata") or {}
    labels = metadata.get("labels") or {}
    known = metadata.get("annotations") or {} if annotations is None else annotations
    spec = (standing or {}).get("spec") or {}
    return {
        **(standing or {"apiVersion": work.api_version, "kind": work.kind}),
        "metadata": {
            "finalizers": [names.EXECUTION_FINALIZER],
            "ownerReferences": [_reference(owner)],
            **metadata,
            "namespace": work.namespace,
            "name": work.name,
            "labels": {**labels, names.WORK_ID: manifest["metadata"]["labels"][names.WORK_ID]},
            "annotations": known,
        },
        "spec": {**spec, "workload": {"manifests": [manifest]}},
    }


def _reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owners_of(work: Object) -> Sequence[Object]:
    """The references to those who own a Work."""
    return work["metadata"].get("ownerReferences") or ()


def is_owned_by(owner: Object, work: Object) -> bool:
    """Whether a Work is this very owner's, and stays."""
    uid = owner["metadata"].get("uid", "")
    leaving = work["metadata"].get("deletionTimestamp")
    return not leaving and any(each.get("uid") == uid for each in owners_of(work))
