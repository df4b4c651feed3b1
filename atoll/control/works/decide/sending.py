"""A binding's Work for one cluster: what it should be.

What was rendered for a cluster and the Work that stands there come in; the Work as it should be
goes out. What others put on it is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.control.works.decide.overriding.overriding import listed
from atoll.control.works.decide.rendering import Rendered
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.karmada.ordinals import STEP, TOLD, telling
from atoll.dialects.karmada.references import marks_of
from atoll.model.ordinals import Range
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object

_TOLD_ANEW = (names.APPLIED_OVERRIDES, names.APPLIED_CLUSTER_OVERRIDES, TOLD)


@dataclass(frozen=True, slots=True)
class Sending:
    """What is to be sent to a cluster on behalf of a binding, and its ordinals if divided."""

    cluster: str
    binding: ResourceBinding
    rendered: Rendered
    ordinals: Range | None = None

    def work(self, standing: Work | None, new_id: str) -> Object:
        """The Work as it should be: the one that stands, changed only where it must be."""
        where = self.rendered.work
        wire: Object = {"apiVersion": where.api_version, "kind": where.kind}
        finalizers, work_id = [], ""
        if standing is not None:
            wire, finalizers = standing.wire, list(standing.meta.finalizers)
            work_id = standing.meta.labels.get(names.WORK_ID, "")
        if names.EXECUTION_FINALIZER not in finalizers:
            finalizers.append(names.EXECUTION_FINALIZER)
        marks, work_id = marks_of(self.binding), work_id or new_id
        split = None if self.ordinals is None else telling(standing, self.ordinals)
        noted = {} if split is None else {TOLD: split.note}
        step = {} if split is None else {STEP: str(split.step)}
        told = {**dict.fromkeys(_TOLD_ANEW), **marks.annotations, **self._told(), **noted}
        metadata = {
            "namespace": where.namespace,
            "name": where.name,
            "finalizers": finalizers,
            "labels": {**marks.labels, names.WORK_ID: work_id},
            "annotations": told,
        }
        return patched(wire, {"metadata": metadata, "spec": self._spec(work_id, step)})

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
        spec = self.binding.spec
        return {
            "workload": {"manifests": [self.rendered.identified(work_id, notes)]},
            "suspendDispatching": spec.is_suspended or self.cluster in spec.suspended_in,
            "preserveResourcesOnDeletion": spec.preserves,
        }
