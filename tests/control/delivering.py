"""Delivery and what it is told, for its tables and its laws."""

from collections.abc import Sequence
from typing import Any

from working_plane import NOW, QUESTIONS, SPACE, manifest, retain

from atoll.control.delivery.decide.deliveries import Deliveries
from atoll.control.delivery.decide.events import (
    ClusterChanged,
    Event,
    Instruction,
    Looked,
    Means,
    MemberView,
    WorkChanged,
)
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import members, works
from atoll.model.action import Ref
from atoll.model.work import Work
from atoll.wire import Object, Wire

KEY = (SPACE, "web")
MEANS = Means(retain, QUESTIONS, lambda _: ())


def work(name: str = "web", space: str = SPACE, *, going: bool = False, **spec: Any) -> Wire:
    """A Work for a Deployment of its own name, in the words of its own manifest."""
    made = marked(name, space, **spec)
    metadata: Wire = {
        "namespace": space,
        "name": name,
        "uid": f"uid-of-{name}",
        "finalizers": [names.EXECUTION_FINALIZER],
    }
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    api = "work.karmada.io/v1alpha1"
    asked = {"workload": {"manifests": [made]}}
    return {"apiVersion": api, "kind": "Work", "metadata": metadata, "spec": asked}


def marked(name: str = "web", space: str = SPACE, **spec: Any) -> Wire:
    """The object of a Work, as it is sent."""
    made = manifest(annotations={names.WORK_NAMESPACE: space, names.WORK_NAME: name}, **spec)
    return {**made, "metadata": {**made["metadata"], "name": name}}


def stored(wire: Object, generation: int = 1, **more: Any) -> Wire:
    """An object as a member has it."""
    metadata = {**wire["metadata"], "uid": "u", "resourceVersion": "1", "generation": generation}
    return {**wire, "metadata": {**metadata, **more}}


def cluster(
    name: str = "m1", *, ready: bool = True, leaving: bool = False, pull: bool = False
) -> Wire:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {}
    return {
        "metadata": {"name": name, **going},
        "spec": {"syncMode": "Pull" if pull else "Push"},
        "status": {"conditions": conditions},
    }


def work_changed(before: Wire | None, after: Wire | None, *, is_meant: bool = True) -> WorkChanged:
    return WorkChanged(_decoded(before), _decoded(after), is_meant)


def cluster_changed(name: str, after: Wire | None) -> ClusterChanged:
    return ClusterChanged(name, None if after is None else members.decode(after))


def _decoded(wire: Wire | None) -> Work | None:
    return None if wire is None else works.decode(wire)


def joined(*sent: Wire, agent_of: str = "") -> Deliveries:
    """Delivery that knows of a ready cluster and these Works."""
    it = Deliveries(agent_of)
    told(it, cluster_changed("m1", cluster()), *(work_changed(None, each) for each in sent))
    return it


def told(it: Deliveries, *events: Event, now: float = NOW) -> list[Instruction]:
    """What is to be done about the last of several events."""
    answers: Sequence[Instruction] = ()
    for each in events:
        answers = it.handle(each, now)
    return list(answers)


def turn(
    it: Deliveries, member: MemberView | None = None, name: str = "web", now: float = NOW
) -> list[Instruction]:
    """What is done at a Work's turn."""
    return told(it, Looked((SPACE, name), member or MemberView(), MEANS), now=now)


def has(*wires: Wire, **more: Any) -> MemberView:
    """A member with these objects."""
    return MemberView(found={Ref.of(each): each for each in wires}, **more)


def to_member(it: Deliveries, member: MemberView) -> list[str]:
    """What would be written to the member at the Work's turn."""
    return [type(each).__name__ for each in turn(it, member) if getattr(each, "at", "")]


def held(it: Deliveries) -> dict[str, int]:
    """How much is held, by what for; nothing is left out."""
    return {what: len(each) for what, each in vars(it).items() if hasattr(each, "__len__") and each}
