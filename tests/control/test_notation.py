"""Events and instructions as JSON: each kind there is, and what is read is what was written."""

from typing import Any, get_args

import orjson
import pytest
from delivering import KEY, MEANS, cluster, cluster_changed, stored, work, work_changed
from hypothesis import given
from hypothesis import strategies as st
from placing_world import make_binding, make_cluster
from scheduling_world import Plane, ref

from atoll.control.delivery.decide import events as delivery
from atoll.control.levels import Level
from atoll.control.notation import Reading, Shelf, Writing
from atoll.control.scheduler.decide import events as scheduler
from atoll.control.scheduler.decide.inquiring import Answer, Inquiry
from atoll.dialects.karmada.cluster import decode as decode_cluster
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.model.action import Create, Delete, Ref, Tell, Update
from atoll.model.amount import Amount
from atoll.model.assumed import Assumed, Parts, Sums
from atoll.model.cluster import Cluster, Free, Grade
from atoll.model.demand import Component, Demand, NodeClaim, NodeTerm
from atoll.model.node import Node
from atoll.model.price import Price
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import Effect, Taint, Toleration
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import NodeRoom, NodeView

WEB = ref("web")
POD = ("apps/v1", "Deployment")
OBJECT = stored(work())
CLAIM = NodeClaim(
    (("disk", "ssd"),),
    (NodeTerm((Requirement("zone", Operator.IN, ("a",)),)),),
    (Toleration("gpu"),),
)
DEMAND = Demand((("cpu", Amount(100)), ("memory", Amount(64_000, True))), CLAIM, "shop", "high")
PARTS = [Component("driver", 1, DEMAND), Component("worker", 3, None)]
TAINT = Taint("gpu", Effect.NO_SCHEDULE, "yes")
NODES = [
    Node(name="n1", labels={"zone": "a"}, taints=(TAINT,), allocatable={"cpu": 4000}, slots=9),
    Node(name="n2", labels={"disk": "ssd"}, unschedulable=True, allocatable={"cpu": 2**40}),
]
VIEW = NodeView({"m1": NodeRoom(NodeTable.of(NODES)), "m2": NodeRoom(NodeTable.of(()))})
BINDING = decode(make_binding(3, name="web"))
FAR = decode_cluster(make_cluster("far", 8, apis=[POD], labels={"a": "b"}))


def scheduled() -> scheduler.Scheduled:
    it = Plane()
    it.cluster("a", 3)
    it.create("web")
    it.turn()
    it.finish(ref("web"))
    return it.scheduled[0]


EXAMPLES: dict[str, tuple[list[Any], list[Any]]] = {
    "scheduler": (
        [
            scheduler.BindingChanged(None, BINDING),
            scheduler.BindingChanged(BINDING, None, spec_changed=False),
            scheduler.ClusterChanged("far", FAR),
            scheduler.ClusterChanged("far", None),
            scheduler.PricesChanged({"a": Price(7, None, {"gpu": 9}, "EUR"), "b": None}),
            scheduler.TimePassed(nodes_changed=True),
            scheduler.Turn(VIEW, 1.25, WEB, scheduler.Why.CLUSTER_CHANGED),
            scheduler.Turn(VIEW),
            scheduler.ScheduleOnWrite(BINDING, VIEW, 0.1),
            scheduler.Written(WEB),
            scheduler.NotWritten(WEB, unsure=True),
            scheduler.Answered(
                WEB,
                Inquiry(DEMAND, "shop", ("a", "b")),
                {"a": Answer(3, Sums(1, {"cpu": 100}, {"cpu": 100}), 1.5)},
            ),
            scheduler.Answered(WEB, Inquiry(tuple(PARTS), "shop", ("a",)), {}),
            scheduler.Answered(WEB, Inquiry(None, "shop", ("a",)), {}),
            scheduler.SearchTook(0.125),
        ],
        [
            scheduler.QueueChanged(),
            scheduler.GiveTurn(WEB, scheduler.Why.REPORT, Level.REPORT, 0.5),
            scheduler.Write(
                WEB, (Update(OBJECT, "status"), Tell(OBJECT, "why", "what", warning=True))
            ),
            scheduler.WriteWith(OBJECT),
            scheduler.Ask(
                WEB, Inquiry(DEMAND, "shop", ("a",)), [Assumed("a", Parts(PARTS, len(PARTS)))]
            ),
            scheduler.Decided(),
            scheduler.Searched(),
            scheduled(),
            scheduler.Queued("BindingAdd"),
            scheduler.Failed(WEB, ValueError("no")),
            scheduler.Forget(WEB),
        ],
    ),
    "delivery": (
        [
            work_changed(None, work()),
            work_changed(work(), {**work(), "status": {"conditions": []}}, is_meant=False),
            cluster_changed("m1", {**cluster(), "kind": "Cluster"}),
            delivery.MemberTurned("m1"),
            delivery.MemberAnswers("m1"),
            delivery.MemberObjectChanged("m1", OBJECT, None),
            delivery.MirrorReady("m1", *POD),
            delivery.Looked(KEY, None, MEANS),
            delivery.Looked(
                KEY,
                delivery.MemberView(
                    True, {Ref.of(OBJECT): OBJECT}, frozenset([WEB]), frozenset([Ref(*POD), WEB])
                ),
                MEANS,
            ),
            delivery.Stored(Create(OBJECT, at="m1"), OBJECT),
            delivery.Stored(Delete.of(OBJECT, at="m1"), None),
            delivery.Refused(Update(OBJECT, at="m1"), "no"),
        ],
        [
            *(Create(OBJECT, "m1"), Update(OBJECT, at="m1"), Delete.of(OBJECT), Tell({}, "a", "b")),
            delivery.Wake(KEY, Level.SUM),
            delivery.WakeToEnd(KEY),
            delivery.Follow("m1", *POD),
            delivery.LookAgain(KEY, 2.5),
            delivery.Retire("m1"),
        ],
    ),
}
KINDS = {
    "scheduler": (scheduler.Event, scheduler.Instruction),
    "delivery": (delivery.Event, delivery.Instruction),
}
SHORT = (scheduler.Scheduled, scheduler.Failed)
"""What is written in short, so that nobody makes it again."""
TOLD = [
    pytest.param(kinds[place], value, id=f"{decider} {type(value).__name__}")
    for decider, kinds in KINDS.items()
    for place in (0, 1)
    for value in EXAMPLES[decider][place]
]


@pytest.mark.parametrize("place", [0, 1], ids=["events", "instructions"])
@pytest.mark.parametrize("decider", KINDS)
def test_there_is_an_example_of_each_kind(decider: str, place: int) -> None:
    assert {*map(type, EXAMPLES[decider][place])} == {*get_args(KINDS[decider][place])}


def carried(kind: Any, *values: Any) -> list[Any]:
    """Values, written line by line and read by somebody else."""
    shelf, reading, found = Shelf(b"key"), Reading(), []
    reading.means = MEANS
    for value in values:
        written = shelf.of(value)
        fresh, shelf.fresh = shelf.fresh, {}
        line = orjson.loads(orjson.dumps({"event": written, "shelved": fresh}))
        reading.parts |= {int(key): part for key, part in line["shelved"].items()}
        found.append(reading.of(kind, line["event"]))
    return found


def whole(value: Any) -> Any:
    return orjson.loads(orjson.dumps(Writing().of(value)))


@pytest.mark.parametrize(("kind", "value"), TOLD)
def test_what_is_read_is_what_was_written(kind: Any, value: Any) -> None:
    if isinstance(value, SHORT):
        assert whole(value)[type(value).__name__]["key"] == list(WEB)
        return
    for found in carried(kind, value, value):
        assert type(found) is type(value)
        assert whole(found) == whole(value)


@pytest.mark.parametrize("decider", KINDS)
def test_what_comes_again_is_written_once(decider: str) -> None:
    shelf = Shelf(b"key")
    for value in EXAMPLES[decider][0]:
        shelf.of(value)
    shelf.fresh = {}
    again = [shelf.of(value) for value in EXAMPLES[decider][0]]
    assert shelf.fresh == {}
    assert max(map(len, map(orjson.dumps, again))) < 700


words = st.text(max_size=5)
amounts = st.builds(Amount, st.integers(-(2**40), 2**40), st.booleans())
taints = st.builds(Taint, words, st.sampled_from(Effect), words)
free = st.builds(Free, st.dictionaries(words, amounts, max_size=3), st.integers(0, 99))
clusters = st.builds(
    Cluster,
    name=words,
    labels=st.dictionaries(words, words, max_size=2),
    zones=st.lists(words, max_size=2).map(tuple),
    taints=st.lists(taints, max_size=2).map(tuple),
    apis=st.frozensets(st.tuples(words, words), max_size=3),
    ready=st.none() | st.booleans(),
    free=st.none() | free,
    grades=st.just((Grade(1, (("cpu", 2),)),)) | st.just(()),
    nodes_by_grade=st.lists(st.integers(0, 9), max_size=2).map(tuple),
    price=st.none() | st.builds(Price, st.none() | st.integers(0, 9)),
    sets=st.frozensets(words, max_size=2),
)


@given(st.lists(clusters, max_size=4))
def test_clusters_are_read_as_they_were(told: list[Cluster]) -> None:
    changes = [scheduler.ClusterChanged(each.name, each) for each in told]
    assert carried(scheduler.Event, *changes) == changes


nodes = st.builds(
    Node,
    name=words,
    labels=st.dictionaries(words, words, max_size=2),
    taints=st.lists(taints, max_size=2).map(tuple),
    unschedulable=st.booleans(),
    allocatable=st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 2**62)),
    slots=st.integers(0, 99),
)
demands = st.builds(
    lambda cpu, claim: Demand((("cpu", Amount(cpu)),), claim),
    st.integers(1, 9000),
    st.sampled_from([NodeClaim(), CLAIM, NodeClaim((("a", "b"),))]),
)


@given(st.lists(nodes, max_size=5), demands)
def test_nodes_that_were_read_have_the_same_room(told: list[Node], demand: Demand) -> None:
    view = NodeView({"m1": NodeRoom(NodeTable.of(told))})
    (found,) = carried(scheduler.Event, scheduler.Turn(view))
    taken = {"m1": (Assumed("m1", tuple(PARTS)),)}
    for asked in (demand, tuple(PARTS), None):
        answers = [
            each.answers(["m1", "m2"], asked, taken).tolist() for each in (view, found.nodes)
        ]
        assert answers[0] == answers[1]


def test_a_value_that_is_told_again_is_the_same_value() -> None:
    changed = decode({**BINDING.wire, "status": {}}, BINDING)
    first, second = carried(
        scheduler.Event,
        scheduler.BindingChanged(None, BINDING),
        scheduler.BindingChanged(BINDING, changed, spec_changed=False),
    )
    assert first.after is second.before
    assert second.after.spec is second.before.spec
