"""A Work in a plane and its member m1, for the stories and the laws of application.

What the plane and the member do is played by `small_world`; what kinds mean by small functions:
spec.kept is the member's own field, and an object is well when it says that it is ready.
"""

import copy
from typing import Any

from small_world import World, settle

from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide.applying import Attempt
from atoll.control.delivery.decide.reflecting import Questions
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import works
from atoll.dialects.kubernetes import conditions
from atoll.model.action import Plan, Ref
from atoll.wire import Wire

NOW = 1_767_225_600.0
SPACE = "karmada-es-m1"
WORK = Ref("work.karmada.io/v1alpha1", "Work", SPACE, "web")
OBJECT = Ref("apps/v1", "Deployment", "shop", "web")


def retain(desired: Wire, observed: Wire) -> Wire:
    kept = (observed.get("spec") or {}).get("kept")
    return desired if kept is None else {**desired, "spec": {**desired["spec"], "kept": kept}}


def reflect(observed: Wire) -> Any:
    return observed.get("status")


def health(observed: Wire) -> str:
    return "Healthy" if (observed.get("status") or {}).get("ready") else "Unhealthy"


QUESTIONS = Questions(reflect, health)


def manifest(labels: Wire | None = None, annotations: Wire | None = None, **spec: Any) -> Wire:
    labels = {"app": "web", names.MANAGED: "true"} | (labels or {})
    annotations = {
        names.WORK_NAMESPACE: SPACE,
        names.WORK_NAME: "web",
        names.MANAGED_LABELS: ",".join(sorted(labels)),
    } | (annotations or {})
    recorded = sorted([*annotations, names.MANAGED_ANNOTATIONS])
    annotations[names.MANAGED_ANNOTATIONS] = ",".join(recorded)
    metadata = {"namespace": "shop", "name": "web", "labels": labels, "annotations": annotations}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 2, **spec},
    }


def work(*manifests: Wire, annotations: Wire | None = None, **spec: Any) -> Wire:
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "namespace": SPACE,
            "name": "web",
            "finalizers": [names.EXECUTION_FINALIZER],
            "annotations": annotations or {},
        },
        "spec": {"workload": {"manifests": list(manifests or [manifest()])}, **spec},
    }


FOREIGN = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"namespace": "shop", "name": "web", "labels": {"owner": "someone"}},
    "spec": {"replicas": 7},
}


class Plane:
    """A Work in a plane, and its member m1."""

    def __init__(self, first: Wire | None = None) -> None:
        self.world = World()
        self.world.put(first or work())
        self.ready: bool | None = True
        self.leaving = False
        self.attempts: dict[Ref, Attempt] = {}

    def plan(self) -> Plan:
        known = self.world.get(WORK)
        if known is None:
            return Plan()
        seen = works.decode(copy.deepcopy(known))
        refs = [Ref.of(each) for each in working.objects(seen)]
        found = {ref: self.world.get(ref, "m1") for ref in refs}
        observed = {ref: wire for ref, wire in found.items() if wire is not None}
        return working.plan(
            working.SeenWork(
                seen,
                self.ready,
                retain,
                QUESTIONS,
                observed,
                self.attempts,
                self.leaving,
            ),
            NOW,
        )

    def settle(self) -> int:
        return settle(self.world, self.plan)

    @property
    def work(self) -> Wire:
        found = self.world.get(WORK)
        assert found is not None
        return found

    @property
    def object(self) -> Wire | None:
        return self.world.get(OBJECT, "m1")

    def condition(self, kind: str) -> tuple[str, str, str]:
        known = (self.work.get("status") or {}).get("conditions") or []
        found = conditions.find(known, kind)
        assert found is not None, f"no condition {kind} in {known}"
        return found["status"], found["reason"], found["message"]

    def change(self, fresh: Wire) -> None:
        """A user, or a controller before us, writes the Work."""
        status = {"status": self.work["status"]} if "status" in self.work else {}
        self.world.put({**fresh, **status})
