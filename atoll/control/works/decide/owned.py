"""Works that no binding makes: they are owned by an object of the plane, and go when it goes.

A manifest, the cluster it is for and the Work that stands there come in; the Work as it should be
goes out, changed only where it must be. Who owns it, and why, is for others to know.
"""

from collections.abc import Mapping
from typing import Any

from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.encoding import patched
from atoll.model.action import Ref
from atoll.model.metadata import Metadata
from atoll.model.work import Work
from atoll.wire import Object

WORK = "work.karmada.io/v1alpha1"


def work_ref(cluster: str, manifest: Object) -> Ref:
    """Which Work brings a cluster-wide object to a cluster."""
    name = names.work_name(manifest["kind"], manifest["metadata"]["name"])
    return Ref(WORK, "Work", names.execution_namespace(cluster), name)


def marked(manifest: Object, work: Ref, **marks: str) -> Object:
    """The manifest as it says itself from which Work it comes."""
    where = {names.WORK_NAMESPACE: work.namespace, names.WORK_NAME: work.name}
    metadata = {"labels": {names.MANAGED: "true"}, "annotations": {**where, **marks}}
    return patched(manifest, {"metadata": metadata})


def work_id_of(standing: Work | None, new_id: str) -> str:
    """The id that a Work has, or is given."""
    return (standing.meta.labels.get(names.WORK_ID) if standing is not None else "") or new_id


def owned_work(
    owner: Metadata,
    work: Ref,
    standing: Work | None,
    manifest: Object,
    notes: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """The Work as it should be; `manifest` carries its id, `notes` are annotations of ours.

    Whatever else stands in it stays.
    """
    metadata = {
        "namespace": work.namespace,
        "name": work.name,
        "labels": {names.WORK_ID: manifest["metadata"]["labels"][names.WORK_ID]},
        "annotations": notes or {},
    }
    made = {
        "apiVersion": work.api_version,
        "kind": work.kind,
        "metadata": {
            "finalizers": [names.EXECUTION_FINALIZER],
            "ownerReferences": [_reference(owner)],
        },
    }
    spec = {"workload": {"manifests": [manifest]}}
    known: Object = made if standing is None else standing.wire
    return patched(known, {"metadata": metadata, "spec": spec})


def _reference(owner: Metadata) -> Object:
    return {
        "apiVersion": owner.ref.api_version,
        "kind": owner.ref.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_owned_by(owner: Metadata, work: Work) -> bool:
    """Whether a Work is this very owner's, and stays."""
    return not work.meta.is_going and any(each.uid == owner.uid for each in work.meta.owners)
