"""A binding's Work for one cluster: what it should be, whether it is ours, whether it has arrived.

What was rendered for a cluster and the Work that stands there come in; the Work as it should be
goes out. Labels and annotations of others on it are left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.control.works.decide.overriding.overriding import listed
from atoll.control.works.decide.rendering import Rendered
from atoll.dialects.karmada import names
from atoll.dialects.karmada.ordinals import STEP, TOLD, telling
from atoll.dialects.karmada.references import marks_of
from atoll.model.action import Object
from atoll.model.ordinals import Range

_TOLD_ANEW = (names.APPLIED_OVERRIDES, names.APPLIED_CLUSTER_OVERRIDES, TOLD)


@dataclass(frozen=True, slots=True)
class Sending:
    """What is to be sent to a cluster on behalf of a binding, and its ordinals if divided."""

    cluster: str
    binding: Object
    rendered: Rendered
    ordinals: Range | None = None

    def work(self, standing: Object | None, new_id: str) -> Object:
        """The Work as it should be: the one that stands, changed only where it must be."""
        metadata = (standing or {}).get("metadata") or {}
        work_id = (metadata.get("labels") or {}).get(names.WORK_ID) or new_id
        marks = marks_of(self.binding)
        kept = {
            key: value
            for key, value in (metadata.get("annotations") or {}).items()
            if key not in _TOLD_ANEW
        }
        finalizers = metadata.get("finalizers") or []
        if names.EXECUTION_FINALIZER not in finalizers:
            finalizers = [*finalizers, names.EXECUTION_FINALIZER]
        where = self.rendered.work
        split = None if self.ordinals is None else telling(standing, self.ordinals)
        noted = {} if split is None else {TOLD: split.note}
        step = {} if split is None else {STEP: str(split.step)}
        return {
            **(standing or {"apiVersion": where.api_version, "kind": where.kind}),
            "metadata": {
                **metadata,
                "namespace": where.namespace,
                "name": where.name,
                "finalizers": finalizers,
                "labels": {
                    **(metadata.get("labels") or {}),
                    **marks.labels,
                    names.WORK_ID: work_id,
                },
                "annotations": {**kept, **marks.annotations, **self._told(), **noted},
            },
            "spec": self._spec(work_id, step),
        }

    def _told(self) -> dict[str, str]:
        """What the Work tells of how it was made."""
        overridden = self.rendered.overridden
        told = {names.CONFLICT_RESOLUTION: self.rendered.conflict_resolution}
        if overridden.cluster_wide:
            told[names.APPLIED_CLUSTER_OVERRIDES] = listed(overridden.cluster_wide)
        if overridden.namespaced:
            told[names.APPLIED_OVERRIDES] = listed(overridden.namespaced)
        return told

    def _spec(self, work_id: str, notes: Mapping[str, str]) -> dict[str, Any]:
        spec = self.binding.get("spec") or {}
        return {
            "workload": {"manifests": [self.rendered.identified(work_id, notes)]},
            "suspendDispatching": _is_suspended(spec.get("suspension") or {}, self.cluster),
            "preserveResourcesOnDeletion": bool(spec.get("preserveResourcesOnDeletion")),
        }


def _is_suspended(suspension: Mapping[str, Any], cluster: str) -> bool:
    listed_clusters = (suspension.get("dispatchingOnClusters") or {}).get("clusterNames") or ()
    return bool(suspension.get("dispatching")) or cluster in listed_clusters
