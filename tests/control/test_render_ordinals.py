"""A StatefulSet divided by ordinals: whatever happens when, no ordinal is in two clusters at once.

The members here do what Kubernetes' own controller does: they make missing pods from the lowest
ordinal up, remove those that are out of range in any order, and tell counts. Anything may be late:
what a Work says, what a member does about it, what is told of it, and which ranges are decided.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendering_world import CLUSTERS, Plane, make_binding, make_template, targets

from atoll.dialects.karmada.ordinals import NOTED, STEP, note, noted
from atoll.model.action import Ref, Tell
from atoll.model.ordinals import Range
from atoll.scheduling.ordinals import divide

TEMPLATE = make_template("StatefulSet")


def manifest(work):
    return work["spec"]["workload"]["manifests"][0]


def range_in(work) -> range:
    spec = manifest(work)["spec"]
    start = (spec.get("ordinals") or {}).get("start", 0)
    return range(start, start + spec["replicas"])


@dataclass
class Member:
    """One cluster: its StatefulSet as it was last written, and the pods there are."""

    generation: int = 0
    wanted: range | None = None
    observed: int = 0
    pods: set[int] = field(default_factory=set)

    def apply(self, work) -> None:
        asked = range_in(work)
        if asked != self.wanted:
            self.wanted, self.generation = asked, self.generation + 1

    def work_on(self, draw=None) -> None:
        """Its controller's next deed."""
        self.observed = self.generation
        wanted = self.wanted if self.wanted is not None else range(0)
        surplus = sorted(self.pods - set(wanted))
        missing = sorted(set(wanted) - self.pods)
        if surplus and (not missing or (draw and draw(st.booleans()))):
            self.pods.discard(draw(st.sampled_from(surplus)) if draw else surplus[-1])
        elif missing:
            self.pods.add(missing[0])

    def lose(self, draw) -> None:
        """A node is drained, or a pod ends by itself."""
        if self.pods:
            self.pods.discard(draw(st.sampled_from(sorted(self.pods))))

    def status(self):
        counts = {"replicas": len(self.pods), "updatedReplicas": len(self.pods)}
        return {**counts, "generation": self.generation, "observedGeneration": self.observed}


class Fleet(Plane):
    """A plane whose members are slow, each in its own way."""

    def __init__(self, wanted) -> None:
        binding = make_binding(TEMPLATE, on=wanted, atoll={"ordinals": {}})
        super().__init__(TEMPLATE, binding)
        self.members = {name: Member() for name in CLUSTERS}
        self.asked, self.reports, self.first = {}, {}, 0
        self.decide(wanted)

    def perform(self, stop=None):
        wanted = super().perform(stop)
        for work in self.world.all("Work"):
            # As the server counts it: what is asked for changed.
            asked = str(work["spec"])
            known, generation = self.asked.get(work["metadata"]["uid"], ("", 0))
            if asked != known:
                self.asked[work["metadata"]["uid"]] = asked, generation + 1
                self.world.put(
                    {**work, "metadata": {**work["metadata"], "generation": generation + 1}}
                )
        return wanted

    @property
    def noted(self):
        return noted(self.binding["metadata"].get("annotations") or {})

    def decide(self, wanted, stride=None) -> None:
        """The scheduler's next decision."""
        ranges = divide(wanted, self.noted or (), stride=stride).ranges
        metadata = {**self.binding["metadata"], "annotations": {NOTED: note(ranges)}}
        self.world.put({**self.binding, "metadata": metadata})
        self.respec(clusters=targets(wanted), replicas=sum(wanted.values()))

    def divide(self, *written):
        """These ordinals are decided for b and for c."""
        wanted = {name: numbers(each) for name, each in zip("bc", written, strict=True) if each}
        ranges = [Range(name, min(own), len(own)) for name, own in wanted.items()]
        metadata = {**self.binding["metadata"], "annotations": {NOTED: note(ranges)}}
        self.world.put({**self.binding, "metadata": metadata})
        self.respec(clusters=targets({name: len(own) for name, own in wanted.items()}))
        return wanted

    def obey(self, name) -> None:
        """What the Work says is written to the member, or taken back with the Work."""
        work, member = self.work(name), self.members[name]
        if work is None:
            return
        if "deletionTimestamp" in work["metadata"]:
            member.wanted, member.generation = None, 0
            self.world.put({**work, "metadata": {**work["metadata"], "finalizers": []}})
            self.world.remove(Ref.of(work))
        else:
            member.apply(work)

    def look(self, name) -> None:
        """Take down how the member is; it is told later, if the Work is the same by then."""
        work, member = self.work(name), self.members[name]
        if work is None or member.wanted is None:
            return
        is_applied = member.wanted == range_in(work)
        applied = {"type": "Applied", "status": "True" if is_applied else "False"}
        conditions = [{**applied, "observedGeneration": work["metadata"].get("generation")}]
        status = {"conditions": conditions, "manifestStatuses": [{"status": member.status()}]}
        self.reports[name] = (work["metadata"].get("resourceVersion"), status)

    def tell(self, name) -> None:
        work = self.work(name)
        version, status = self.reports.pop(name, (None, None))
        if work and status and work["metadata"].get("resourceVersion") == version:
            self.world.put({**work, "status": status})

    def check(self) -> None:
        pods = [(pod, name) for name, member in self.members.items() for pod in member.pods]
        ordinals = [pod for pod, _ in pods]
        assert len(ordinals) == len(set(ordinals)), sorted(pods)

    def finish(self, draw=None) -> None:
        """Nothing is late any more."""
        for _ in range(300):
            self.perform()
            for name in CLUSTERS:
                self.obey(name)
                self.members[name].work_on(draw)
                self.check()
                self.look(name)
                self.tell(name)
            running = {name: each.pods for name, each in self.members.items()}
            todo = [each for each in self.plan().actions if not isinstance(each, Tell)]
            if not todo and running == self.decided():
                return
        raise AssertionError(f"no end: {running}, wanted {self.decided()}")

    def edit(self) -> None:
        """The template's owner changes something that is no ordinal's business."""
        metadata = self.template["metadata"]
        generation = metadata["generation"] + 1
        self.template = {**self.template, "metadata": {**metadata, "generation": generation}}

    def decided(self):
        found = {each.cluster: self.pods_of(each) for each in self.noted}
        return {name: found.get(name, set()) for name in CLUSTERS}

    def pods_of(self, ordinals):
        return {self.first + each for each in range(ordinals.start, ordinals.end)}


WANTED = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4), max_size=3)
LATE = st.sampled_from(["plan", "obey", "work", "look", "tell"])
NEWS = st.sampled_from(["decide", "decide", "edit", "lose"])


def running(fleet):
    return {name: sorted(each.pods) for name, each in fleet.members.items() if each.pods}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({"a": 3, "b": 5}, {"a": [0, 1, 2], "b": [3, 4, 5, 6, 7]}, id="the-top-grows"),
        pytest.param({"a": 3, "b": 1}, {"a": [0, 1, 2], "b": [3]}, id="the-top-shrinks"),
        pytest.param({"a": 4, "b": 4}, {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]}, id="one-moves"),
        pytest.param({"a": 3, "c": 3}, {"a": [0, 1, 2], "c": [3, 4, 5]}, id="a-cluster-is-left"),
        pytest.param({"c": 3, "d": 3}, {"c": [0, 1, 2], "d": [3, 4, 5]}, id="all-are-left"),
        pytest.param({}, {}, id="nowhere"),
    ],
)
def test_a_divided_stateful_set_moves_in_order(wanted, expected) -> None:
    fleet = Fleet({"a": 3, "b": 3})
    fleet.finish()
    assert running(fleet) == {"a": [0, 1, 2], "b": [3, 4, 5]}
    fleet.decide(wanted)
    fleet.finish()
    assert running(fleet) == expected
    assert fleet.clusters() == expected.keys()


@pytest.mark.parametrize(
    "story",
    [
        pytest.param([("3-5", "", "3-5"), ("2-4", "5", "3-5")], id="grows-and-shrinks-at-once"),
        pytest.param(
            [("3-5", "", "3-5"), ("1-5", "", "3-5"), ("1-3", "4-5", "1 3 4")],
            id="was-growing-at-the-bottom",
        ),
        pytest.param(
            [("0-2", "", "0-2"), ("0-5", "", "0-2"), ("3-5", "0-2", "1 2 3")],
            id="was-growing-at-the-top",
        ),
        pytest.param(
            [
                ("0-5", "", "0-5"),
                ("0-3", "", "0-3 5"),
                ("0-5", "", "0-3 5"),
                ("0-4", "5", "0-3 5"),
            ],
            id="was-shrinking-and-growing-again",
        ),
        pytest.param(
            [("3-5", "", "3-5"), ("4-5", "", "3-5"), ("3-4", "5", "4-5")], id="was-shrinking"
        ),
    ],
)
def test_a_count_that_fits_by_chance_is_not_believed(story) -> None:
    """Each time: the ordinals decided for b and for c, and the pods that b has then."""
    fleet = Fleet({})
    for *decided, there in story:
        wanted = fleet.divide(*decided)
        for _ in range(3):
            fleet.perform()
            fleet.obey("b")
            member = fleet.members["b"]
            member.pods, member.observed = numbers(there), member.generation
            fleet.look("b")
            fleet.tell("b")
    assert fleet.work("c") is None
    fleet.finish()
    assert running(fleet) == {name: sorted(own) for name, own in wanted.items()}


@pytest.mark.parametrize("told", [False, True], ids=["of-an-older-work", "of-an-older-set"])
def test_a_report_from_before_is_not_believed(told) -> None:
    fleet = Fleet({})
    fleet.divide("0-3", "")
    fleet.finish()
    fleet.divide("0-5", "")
    fleet.perform()
    fleet.obey("b")
    fleet.divide("0-3", "4-5")
    for _ in range(3):
        fleet.perform()
        if told:
            # The member has it in writing, while its controller still makes what came before.
            fleet.obey("b")
            fleet.look("b")
            fleet.tell("b")
    fleet.members["b"].pods = numbers("0-5")
    assert fleet.work("c") is None


@pytest.mark.parametrize("lost", [False, True], ids=["the-work-is-changed", "a-pod-is-lost"])
def test_ordinals_that_were_given_away_do_not_come_back_before_they_are_gone_there(lost) -> None:
    """What b shows of 0 is out of date again, when 1 is to come back to it from c."""
    fleet = Fleet({})
    fleet.divide("0-1", "")
    fleet.finish()
    fleet.divide("0", "1")
    fleet.finish()
    if lost:
        fleet.members["b"].pods.clear()
        fleet.look("b")
        fleet.tell("b")
    else:
        fleet.edit()
        fleet.perform()
    fleet.divide("0-1", "2")
    fleet.perform()
    assert range_in(fleet.work("b")) == range(1)
    held = [each.message for each in fleet.plan().actions if isinstance(each, Tell)]
    assert "b: 1 (c may still run 1)" in held[0]
    fleet.finish()
    assert running(fleet) == {"b": [0, 1], "c": [2]}


def numbers(written: str) -> set[int]:
    found: set[int] = set()
    for part in written.split():
        first, _, last = part.partition("-")
        found |= {*range(int(first), int(last or first) + 1)}
    return found


def test_what_a_lost_cluster_may_run_starts_nowhere_else_until_it_is_back_or_removed() -> None:
    fleet = Fleet({"a": 3, "b": 3})
    fleet.finish()
    fleet.decide({"a": 3, "c": 3})
    for _ in range(3):
        for name in "ac":
            fleet.perform()
            fleet.obey(name)
            fleet.members[name].work_on()
            fleet.look(name)
            fleet.tell(name)
    assert fleet.clusters() == {"a", "b"}
    assert manifest(fleet.work("b"))["spec"]["replicas"] == 0
    held = [each for each in fleet.plan().actions if isinstance(each, Tell)]
    assert {each.reason for each in held} == {"OrdinalsWaiting"}
    assert "c: 3-5 (b may still run 3-5)" in held[0].message
    fleet.finish()
    assert running(fleet) == {"a": [0, 1, 2], "c": [3, 4, 5]}


def test_a_cluster_that_was_removed_holds_nothing_up() -> None:
    fleet = Fleet({"a": 3, "b": 3})
    fleet.finish()
    fleet.members["b"].pods.clear()
    fleet.fleet = {name: each for name, each in CLUSTERS.items() if name != "b"}
    fleet.decide({"a": 3, "c": 3})
    fleet.finish()
    assert running(fleet) == {"a": [0, 1, 2], "c": [3, 4, 5]}


def test_nothing_is_sent_while_nobody_knows_which_ordinals_run_where() -> None:
    fleet = Fleet({"a": 3, "b": 3})
    fleet.finish()
    metadata = {**fleet.binding["metadata"], "annotations": {}}
    fleet.world.put({**fleet.binding, "metadata": metadata})
    fleet.respec(clusters=targets({"c": 6}))
    assert fleet.plan().actions == ()


def test_a_set_that_ran_whole_in_two_clusters_is_divided_by_and_by() -> None:
    fleet = Fleet({"a": 3, "b": 3})
    fleet.respec(atoll={})
    fleet.perform()
    for name in "abababab":
        fleet.obey(name)
        fleet.members[name].work_on()
    assert running(fleet) == {"a": [0, 1, 2], "b": [0, 1, 2]}
    fleet.respec(atoll={"ordinals": {}})
    fleet.perform()
    replicas = [manifest(fleet.work(name))["spec"]["replicas"] for name in "ab"]
    assert replicas == [3, 0]
    for name in "bbb":
        fleet.obey(name)
        fleet.members[name].work_on()
    fleet.finish()
    assert running(fleet) == {"a": [0, 1, 2], "b": [3, 4, 5]}


def test_a_stride_keeps_a_clusters_ordinals_for_it_also_while_it_has_none() -> None:
    fleet = Fleet({})
    for wanted, expected in (
        ({"a": 2, "b": 2}, {"a": [0, 1], "b": [10, 11]}),
        ({"a": 4, "b": 1}, {"a": [0, 1, 2, 3], "b": [10]}),
        ({"b": 2}, {"b": [10, 11]}),
        ({"b": 2, "c": 1}, {"b": [10, 11], "c": [20]}),
        ({"a": 1, "b": 2, "c": 1}, {"a": [0], "b": [10, 11], "c": [20]}),
    ):
        fleet.decide(wanted, stride=10)
        fleet.finish()
        assert running(fleet) == expected


def test_ordinals_are_counted_from_where_the_template_starts() -> None:
    fleet = Fleet({"a": 2, "b": 2})
    fleet.first = 5
    fleet.template = make_template("StatefulSet", spec={"replicas": 4, "ordinals": {"start": 5}})
    fleet.finish()
    assert running(fleet) == {"a": [5, 6], "b": [7, 8]}


def test_every_change_is_a_write_of_its_own_in_the_member() -> None:
    fleet = Fleet({"a": 3})
    steps = []
    for wanted in ({"a": 3}, {"a": 5}, {"a": 3}):
        fleet.decide(wanted)
        fleet.perform()
        steps.append(manifest(fleet.work("a"))["metadata"]["annotations"][STEP])
    assert steps == ["1", "2", "3"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_ordinal_is_ever_in_two_clusters_and_all_come_to_rest(data) -> None:
    fleet = Fleet(data.draw(WANTED))
    for _ in range(data.draw(st.integers(0, 60))):
        deed = data.draw(st.one_of(LATE, NEWS) if data.draw(st.booleans()) else LATE)
        name = data.draw(st.sampled_from("abcd"))
        if deed == "decide":
            fleet.decide(data.draw(WANTED))
        elif deed == "edit":
            fleet.edit()
        elif deed == "lose":
            fleet.members[name].lose(data.draw)
        elif deed == "plan":
            fleet.perform(stop=data.draw(st.one_of(st.none(), st.integers(0, 3))))
        elif deed == "obey":
            fleet.obey(name)
        elif deed == "work":
            fleet.members[name].work_on(data.draw)
        elif deed == "look":
            fleet.look(name)
        else:
            fleet.tell(name)
        fleet.check()
    fleet.finish(data.draw)
