"""Ordinals of a split StatefulSet: where they go, how few move, and never one in two clusters."""

from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import Invalid
from atoll.model.ordinals import Range
from atoll.scheduling.ordinals import GiveUp, Plan, Take, divide, next_steps

NAMES = "abcde"


def make_ranges(written: str) -> tuple[Range, ...]:
    """`a:0+3 b:3+2` is three ordinals from 0 in a, two from 3 in b."""
    parts = (each.replace("+", ":").split(":") for each in written.split())
    return tuple(Range(name, int(start), int(size)) for name, start, size in parts)


def make_counts(written: str) -> dict[str, int]:
    return {name: int(size) for name, size in (each.split(":") for each in written.split())}


def show(ranges: tuple[Range, ...]) -> str:
    return " ".join(f"{each.cluster}:{each.start}+{each.count}" for each in ranges)


def show_moves(plan: Plan) -> list[str]:
    shown = []
    for move in plan.moves:
        match move:
            case GiveUp(gone):
                shown.append(f"{gone.cluster} stops {gone}")
            case Take(new, after):
                awaited = [f"{each.ordinals.cluster} {each.ordinals}" for each in after]
                shown.append(" ".join([f"{new.cluster} starts {new}", *awaited]))
    return shown


def ordinals(each: Range) -> set[int]:
    return set(range(each.start, each.end))


def kept(before: tuple[Range, ...], after: tuple[Range, ...]) -> int:
    had = {each.cluster: ordinals(each) for each in before}
    return sum(len(ordinals(each) & had.get(each.cluster, set())) for each in after)


counts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6))


@st.composite
def stacks(draw) -> tuple[Range, ...]:
    """Ranges as they are decided without a stride."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    ranges, end = [], 0
    for name in names:
        ranges.append(Range(name, end, draw(st.integers(1, 6))))
        end = ranges[-1].end
    return tuple(ranges)


@pytest.mark.parametrize(
    ("before", "wanted", "after", "moves"),
    [
        pytest.param("", "b:2 a:3", "a:0+3 b:3+2", ["a starts 0-2", "b starts 3-4"], id="first"),
        pytest.param("a:0+3 b:3+2", "a:3 b:2", "a:0+3 b:3+2", [], id="nothing-changed"),
        pytest.param(
            "b:0+3 a:3+2", "a:4 b:3", "b:0+3 a:3+4", ["a starts 5-6"], id="the-top-range-grows"
        ),
        pytest.param(
            "b:0+3", "a:2 b:3", "b:0+3 a:3+2", ["a starts 3-4"], id="a-new-range-opens-above"
        ),
        pytest.param(
            "a:0+3 b:3+3", "a:3 b:1", "a:0+3 b:3+1", ["b stops 4-5"], id="shrinks-from-the-top"
        ),
        pytest.param(
            "a:0+3 b:3+3",
            "a:4 b:3",
            "a:0+4 b:4+3",
            ["b stops 3", "a starts 3 b 3", "b starts 6"],
            id="a-low-range-grows-into-the-next",
        ),
        pytest.param(
            "a:0+3 b:3+3 c:6+3",
            "b:3 c:3 d:3",
            "d:0+3 b:3+3 c:6+3",
            ["a stops 0-2", "d starts 0-2 a 0-2"],
            id="a-newcomer-takes-the-place-of-a-lost-cluster",
        ),
        pytest.param(
            "a:0+3 b:3+3 c:6+3",
            "b:3 c:3",
            "c:0+3 b:3+3",
            ["c stops 6-8", "a stops 0-2", "c starts 0-2 c 6-8 a 0-2"],
            id="the-top-fills-the-hole-below",
        ),
        pytest.param("a:0+2", "a:0", "", ["a stops 0-1"], id="down-to-nothing"),
    ],
)
def test_ranges_and_the_way_to_them(before, wanted, after, moves):
    plan = divide(make_counts(wanted), make_ranges(before))
    assert (show(plan.ranges), show_moves(plan)) == (after, moves)


@pytest.mark.parametrize(
    ("before", "wanted", "after", "moves"),
    [
        pytest.param(
            "", "a:3 b:2", "a:0+3 b:10+2", ["a starts 0-2", "b starts 10-11"], id="one-slot-each"
        ),
        pytest.param(
            "b:0+3 a:10+2", "a:2 b:5", "b:0+5 a:10+2", ["b starts 3-4"], id="others-are-not-touched"
        ),
        pytest.param(
            "a:0+3 b:10+2",
            "b:2 c:1",
            "a:0+0 b:10+2 c:20+1",
            ["a stops 0-2", "c starts 20"],
            id="a-cluster-without-replicas-keeps-its-slot",
        ),
        pytest.param(
            "b:10+2 c:20+1",
            "b:2 c:1 d:4",
            "d:0+4 b:10+2 c:20+1",
            ["d starts 0-3"],
            id="a-slot-that-is-left-out-is-free",
        ),
        pytest.param(
            "a:0+3 b:3+2",
            "a:3 b:2",
            "a:0+3 b:10+2",
            ["b stops 3-4", "b starts 10-11 b 3-4"],
            id="a-stride-set-later",
        ),
    ],
)
def test_ranges_with_a_stride_of_ten(before, wanted, after, moves):
    plan = divide(make_counts(wanted), make_ranges(before), stride=10)
    assert (show(plan.ranges), show_moves(plan)) == (after, moves)


def test_ordinals_of_a_fenced_cluster_are_not_waited_for():
    plan = divide({"b": 3}, make_ranges("a:0+3"), fenced=frozenset("a"))
    assert show_moves(plan) == ["a stops 0-2", "b starts 0-2"]


@pytest.mark.parametrize(
    ("targets", "observed", "fenced", "now", "held"),
    [
        pytest.param("a:0+3", "", "", "a:0+3", [], id="free-ordinals-start-at-once"),
        pytest.param("a:0+3", "a:0+3", "", "", [], id="nothing-to-do"),
        pytest.param(
            "a:0+4 b:4+3",
            "a:0+3 b:3+3",
            "",
            "b:4+3",
            ["a 3: b may still run 3"],
            id="first-given-up-then-taken",
        ),
        pytest.param(
            "b:0+3", "a:0+3", "", "a:0+0", ["b 0-2: a may still run 0-2"], id="an-unfenced-failover"
        ),
        pytest.param("b:0+3", "a:0+3", "a", "b:0+3", [], id="a-fenced-failover"),
        pytest.param(
            "b:0+6", "a:1+1", "", "a:0+0 b:2+4", ["b 0-1: a may still run 1"], id="longest-run"
        ),
        pytest.param(
            "b:0+6", "a:1+1 b:2+1", "", "a:0+0 b:2+4", ["b 0-1: a may still run 1"], id="extends"
        ),
        pytest.param(
            "a:0+3", "a:5+3", "", "a:0+0", ["a 0-2: a stops 5-7 first"], id="one-range-at-a-time"
        ),
        pytest.param("a:0+3", "", "a", "", ["a 0-2: a is fenced"], id="nothing-in-fenced-clusters"),
        pytest.param(
            "a:0+3", "a:0+3 b:2+2", "", "b:0+0", [], id="only-the-owner-keeps-a-doubled-ordinal"
        ),
        pytest.param("a:0+0 b:5+1", "a:0+2 b:5+1", "", "a:0+0", [], id="an-empty-slot"),
    ],
)
def test_steps_that_are_safe_now(targets, observed, fenced, now, held):
    steps = next_steps(make_ranges(targets), make_ranges(observed), fenced=frozenset(fenced))
    shown = [f"{each.ordinals.cluster} {each.ordinals}: {each.reason}" for each in steps.held]
    assert (show(steps.now), shown) == (now, held)


@given(counts, stacks())
def test_without_a_stride_the_ranges_are_exactly_the_replicas(wanted, before):
    ranges = divide(wanted, before).ranges
    assert {each.cluster: each.count for each in ranges} == {k: v for k, v in wanted.items() if v}
    together = [ordinal for each in ranges for ordinal in range(each.start, each.end)]
    assert together == list(range(sum(wanted.values())))


@given(counts, stacks())
def test_no_other_order_of_the_clusters_moves_fewer_ordinals(wanted, before):
    def stacked(names) -> tuple[Range, ...]:
        sizes = [wanted[name] for name in names]
        return tuple(Range(name, sum(sizes[:i]), sizes[i]) for i, name in enumerate(names))

    best = max(kept(before, stacked(names)) for names in permutations(wanted))
    assert kept(before, divide(wanted, before).ranges) == best


@settings(max_examples=30)
@given(st.integers(9, 40), st.data())
def test_a_lost_cluster_among_many_is_replaced_in_its_place(size, data):
    names = [f"m{i:02}" for i in range(size)]
    wanted = {name: data.draw(st.integers(1, 4)) for name in names}
    before = divide(wanted, ()).ranges
    lost = data.draw(st.sampled_from(names))
    wanted["new"] = wanted.pop(lost)
    after = divide(wanted, before).ranges
    assert {each.start: each.count for each in after} == {e.start: e.count for e in before}
    assert kept(before, after) == sum(wanted.values()) - wanted["new"]


@given(counts, stacks(), st.none() | st.just(6))
def test_planning_again_changes_nothing(wanted, before, stride):
    ranges = divide(wanted, before, stride=stride).ranges
    assert divide(wanted, ranges, stride=stride) == Plan(ranges, ())


@given(counts, stacks(), st.none() | st.just(6))
def test_the_order_of_what_is_given_does_not_matter(wanted, before, stride):
    turned = dict(reversed(wanted.items()))
    one, other = divide(wanted, before, stride=stride), divide(turned, before[::-1], stride=stride)
    assert one == other


@given(stacks().filter(bool), st.integers(0, 9), st.sets(st.sampled_from("xyz")))
def test_a_change_of_the_top_cluster_touches_no_other(before, replicas, new):
    wanted = {each.cluster: each.count for each in before} | {before[-1].cluster: replicas}
    if replicas >= before[-1].count:
        wanted |= dict.fromkeys(new, 2)
    plan = divide(wanted, before)
    touched = {move.ordinals.cluster for move in plan.moves}
    assert touched <= {before[-1].cluster, *new}
    assert all(not move.after for move in plan.moves if isinstance(move, Take))


@given(st.lists(counts, max_size=5), st.sampled_from(NAMES))
def test_with_a_stride_a_cluster_never_leaves_its_slot(history, name):
    ranges: tuple[Range, ...] = ()
    starts = set()
    for wanted in history:
        ranges = divide(wanted, ranges, stride=6).ranges
        starts |= {each.start for each in ranges if each.cluster == name}
        assert all(each.start % 6 == 0 and each.count <= 6 for each in ranges)
        assert len({each.start for each in ranges}) == len(ranges)
    assert len(starts) <= 1


@given(counts, stacks(), st.none() | st.just(6), st.frozensets(st.sampled_from(NAMES)))
def test_moves_lead_to_the_ranges_and_no_ordinal_is_ever_in_two_clusters(
    wanted, before, stride, fenced
):
    plan = divide(wanted, before, stride=stride, fenced=fenced)
    runs = {name: set() for name in NAMES} | {e.cluster: ordinals(e) for e in before}
    for move in plan.moves:
        own = runs[move.ordinals.cluster]
        if isinstance(move, GiveUp):
            assert ordinals(move.ordinals) <= own
            own -= ordinals(move.ordinals)
        else:
            assert not any(ordinals(move.ordinals) & held for held in runs.values())
            own |= ordinals(move.ordinals)
        assert not own or len(own) == max(own) - min(own) + 1
    assert all(runs[each.cluster] == ordinals(each) for each in plan.ranges)
    assert sum(map(len, runs.values())) == sum(each.count for each in plan.ranges)


@pytest.mark.parametrize(
    ("call", "field", "problem"),
    [
        pytest.param(lambda: divide({"a": -1}, ()), "replicas[a]", "negative", id="replicas"),
        pytest.param(lambda: Range("a", -1, 2), "ranges[a]", "negative", id="start"),
        pytest.param(lambda: divide({}, (), stride=0), "stride", "at least 1", id="stride"),
        pytest.param(
            lambda: divide({"a": 5}, (), stride=4), "replicas[a]", "does not fit", id="overfull"
        ),
        pytest.param(
            lambda: divide({}, make_ranges("a:0+2 b:1+2")), "current", "same ordinal", id="doubled"
        ),
        pytest.param(
            lambda: divide({}, make_ranges("a:0+2 a:2+2")), "current", "one range", id="two-ranges"
        ),
        pytest.param(
            lambda: next_steps((), make_ranges("a:0+1 a:9+2")), "observed", "one range", id="seen"
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(call, field, problem):
    with pytest.raises(Invalid, match=problem) as refused:
        call()
    assert refused.value.field == field


@dataclass
class Member:
    """A cluster that runs a StatefulSet: it starts or stops one pod at a time, also when cut off,
    and reports only while it can be reached."""

    name: str
    told: range = range(0)
    spec: range = range(0)
    pods: set[int] = field(default_factory=set)
    may_run: set[int] = field(default_factory=set)
    reachable: bool = True

    def tell(self, each: Range) -> None:
        self.told = range(each.start, each.end)
        self.may_run |= set(self.told)

    def tick(self) -> None:
        if self.reachable:
            self.spec = self.told
        surplus, missing = self.pods - set(self.spec), set(self.spec) - self.pods
        if surplus:
            self.pods.remove(max(surplus))
        elif missing:
            self.pods.add(min(missing))
        if self.reachable:
            self.may_run = self.pods | set(self.spec)

    def fence(self) -> None:
        self.told = self.spec = range(0)
        self.pods, self.may_run = set(), set()

    @property
    def observed(self) -> Range:
        first = min(self.may_run, default=0)
        return Range(self.name, first, max(self.may_run) - first + 1 if self.may_run else 0)


class World:
    """A plan being carried out on members that fail; checks after every event that no ordinal runs
    twice."""

    def __init__(self, stride: int | None) -> None:
        self.members = {name: Member(name) for name in NAMES}
        self.stride = stride
        self.fenced: frozenset[str] = frozenset()
        self.wanted: dict[str, int] = {}
        self.ranges: tuple[Range, ...] = ()

    def want(self, wanted: dict[str, int]) -> None:
        self.wanted = wanted
        plan = divide(wanted, self.ranges, stride=self.stride, fenced=self.fenced)
        self.ranges = plan.ranges

    def advance(self, chosen: int) -> None:
        """Carry out the steps whose bits are set."""
        observed = tuple(member.observed for member in self.members.values())
        steps = next_steps(self.ranges, observed, fenced=self.fenced)
        for i, step in enumerate(steps.now):
            if chosen >> i & 1:
                self.members[step.cluster].tell(step)

    def tick(self, name: str) -> None:
        self.members[name].tick()
        running = [pod for member in self.members.values() for pod in member.pods]
        assert len(running) == len(set(running)), "an ordinal runs in two clusters"

    def cut_off(self, name: str) -> None:
        self.members[name].reachable = False

    def fence(self, name: str) -> None:
        if not self.members[name].reachable:
            self.members[name].fence()
            self.fenced |= {name}

    def heal(self, name: str) -> None:
        self.members[name].reachable = True
        self.fenced -= {name}

    def settle(self) -> None:
        before = None
        while before != (before := repr(self.members)):
            self.advance(-1)
            for name in NAMES:
                self.tick(name)


names = st.sampled_from(NAMES)
events = st.lists(
    st.one_of(
        st.tuples(st.just(World.want), counts),
        st.tuples(st.just(World.advance), st.integers(0, 31)),
        st.tuples(st.just(World.advance), st.just(31)),
        st.tuples(st.just(World.tick), names),
        st.tuples(st.just(World.tick), names),
        st.tuples(st.just(World.cut_off), names),
        st.tuples(st.just(World.fence), names),
        st.tuples(st.just(World.heal), names),
    ),
    max_size=60,
)


@settings(max_examples=300)
@given(events, counts, st.none() | st.just(6))
def test_through_failures_no_ordinal_runs_twice_and_in_the_end_all_run_where_planned(
    history, wanted, stride
):
    world = World(stride)
    for event, argument in history:
        event(world, argument)
    for name in NAMES:
        world.heal(name)
    world.want(wanted)
    world.settle()
    planned = {name: set() for name in NAMES} | {e.cluster: ordinals(e) for e in world.ranges}
    assert {name: member.pods for name, member in world.members.items()} == planned


@settings(max_examples=100)
@given(events, counts)
def test_what_a_cluster_that_cannot_be_asked_may_run_is_started_nowhere_until_it_is_fenced(
    history, wanted
):
    world = World(None)
    for event, argument in [*history, (World.heal, "a")]:
        event(world, argument)
    world.want(wanted | {"a": 2})
    for name in NAMES[1:]:
        world.heal(name)
    world.settle()
    world.cut_off("a")
    lost = world.members["a"].pods.copy()
    world.want(wanted | {"a": 0, "b": wanted.get("b", 0) + 2})
    world.settle()
    assert world.members["a"].pods == lost
    world.fence("a")
    world.settle()
    running = set().union(*(member.pods for member in world.members.values()))
    assert running == set(range(sum(world.wanted.values())))
