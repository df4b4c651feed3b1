"""Which ordinals of a split StatefulSet run where, and in which order they may change places.

Replicas wanted per cluster and the ranges decided before come in; new ranges and the moves to them
come out, and, given what may exist where, the steps that are safe now. A member's StatefulSet has
one start and one count, so a cluster holds one contiguous range and changes it at its ends only.
An ordinal starts in one cluster only after it is gone from every other. Volumes do not travel with
an ordinal; how its data get to its new home is not known here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count, pairwise

from atoll.errors import Invalid
from atoll.model.ordinals import Range


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop these ordinals in their cluster, and wait until they are gone."""

    ordinals: Range


@dataclass(frozen=True, slots=True)
class Take:
    """Start these ordinals in their cluster, once all of `after` is done."""

    ordinals: Range
    after: tuple[GiveUp, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The ranges decided, from the lowest up, and the way from the ranges before to them."""

    ranges: tuple[Range, ...]
    moves: tuple[GiveUp | Take, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """Ordinals that may not start in their cluster yet, and why."""

    ordinals: Range
    reason: str


@dataclass(frozen=True, slots=True)
class Steps:
    """The range each cluster may be told to run now, where it differs, and what has to wait."""

    now: tuple[Range, ...]
    held: tuple[Held, ...]


def divide(
    wanted: Mapping[str, int],
    current: tuple[Range, ...],
    *,
    stride: int | None = None,
    fenced: frozenset[str] = frozenset(),
) -> Plan:
    """Give each cluster a contiguous range of as many ordinals as it is wanted to run.

    `current` are the ranges decided last, whether or not they were reached. Without a stride the
    ranges are exactly 0..replicas-1, and as few ordinals as possible change clusters: growth of the
    topmost cluster or by new ones, shrinking from the top, and no change at all move nothing. Up to
    8 clusters this is the minimum; with more it may be missed, at worst the order of the clusters
    is kept. With a stride each cluster has `stride` ordinals of its own, for good: it keeps them
    when it has no replicas, and what one cluster runs never touches another. To free them, leave
    the cluster out of `current`. Nothing waits for clusters that are fenced.
    """
    _check(wanted, current)
    if stride is None:
        ranges = _side_by_side(wanted, current)
    else:
        ranges = _in_slots(wanted, current, stride)
    return Plan(ranges, _moves(current, ranges, fenced))


def next_steps(
    ranges: tuple[Range, ...], observed: tuple[Range, ...], *, fenced: frozenset[str] = frozenset()
) -> Steps:
    """Say what each cluster may be told now, on the way to the ranges decided.

    `observed` is all that may exist: what a cluster was last seen running, and all it was told to
    run since; a cluster that cannot be asked keeps what it had. A fenced cluster is one that surely
    runs nothing and will start nothing, whatever was observed. All, some or none of the steps may
    be carried out, and the next ones asked for with what is then observed: the end is the same.
    """
    _check_one_each("observed", observed)
    targets = {each.cluster: each for each in ranges}
    holders = [each for each in observed if each.count and each.cluster not in fenced]
    holds = {each.cluster: each for each in holders}
    now: list[Range] = []
    held: list[Held] = []
    for name in sorted(targets.keys() | holds.keys()):
        have, target = holds.get(name, _none(name)), targets.get(name, _none(name))
        if have == target:
            continue
        if name in fenced:
            held += [Held(target, f"{name} is fenced")] if target.count else []
            continue
        others = [each for each in holders if each.cluster != name and _shared(each, target)]
        step = _towards(target, have, others)
        if step != have:
            now.append(step)
        held += [Held(rest, _reason(rest, have, others)) for rest in _without(target, step)]
    return Steps(tuple(now), tuple(held))


def _check(wanted: Mapping[str, int], current: tuple[Range, ...]) -> None:
    for name, replicas in wanted.items():
        if replicas < 0:
            raise Invalid(f"replicas[{name}]", replicas, "must not be negative")
    _check_one_each("current", current)
    by_start = sorted((each for each in current if each.count), key=lambda each: each.start)
    for lower, upper in pairwise(by_start):
        if upper.start < lower.end:
            both = f"{lower.cluster} {lower}, {upper.cluster} {upper}"
            raise Invalid("current", both, "two clusters must not own the same ordinal")


def _check_one_each(field: str, ranges: tuple[Range, ...]) -> None:
    seen: set[str] = set()
    for each in ranges:
        if each.cluster in seen:
            raise Invalid(field, each.cluster, "a cluster must have one range only")
        seen.add(each.cluster)


def _none(cluster: str) -> Range:
    return Range(cluster, 0, 0)


def _common(one: Range, other: Range) -> Range:
    """The ordinals of the first that the second has too."""
    return Range(one.cluster, max(one.start, other.start), _shared(one, other))


def _shared(one: Range, other: Range) -> int:
    """How many ordinals both have."""
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def _without(whole: Range, part: Range) -> list[Range]:
    """The ordinals below and above a part; all if there is nothing of it."""
    both = _common(whole, part)
    if not both.count:
        return [whole] if whole.count else []
    pieces = ((whole.start, both.start), (both.end, whole.end))
    return [Range(whole.cluster, start, end - start) for start, end in pieces if end > start]


def _side_by_side(wanted: Mapping[str, int], current: tuple[Range, ...]) -> tuple[Range, ...]:
    """Ranges without gaps from 0 up, in the order in which the fewest ordinals move."""
    own = {each.cluster: each for each in current if each.count}
    old = sorted((name for name in own if wanted.get(name)), key=lambda name: own[name].start)
    names = old + sorted(name for name, replicas in wanted.items() if replicas and name not in own)
    as_before = _stack(names, wanted)
    if not sum(_lost(each, own) for each in as_before):
        return as_before
    candidates = (as_before, _rearranged(names, wanted, own))
    return min(candidates, key=lambda ranges: sum(_lost(each, own) for each in ranges))


def _stack(names: Iterable[str], wanted: Mapping[str, int]) -> tuple[Range, ...]:
    ranges, end = [], 0
    for name in names:
        ranges.append(Range(name, end, wanted[name]))
        end += wanted[name]
    return tuple(ranges)


def _lost(target: Range, own: Mapping[str, Range]) -> int:
    """How many ordinals a cluster would have to move, of those that it could have kept."""
    before = own.get(target.cluster)
    return min(before.count, target.count) - _shared(before, target) if before else 0


@dataclass(frozen=True, slots=True)
class _Stack:
    """Clusters from 0 up: the topmost, what it stands on, all of them as bits, and the price."""

    top: str = ""
    below: "_Stack | None" = None
    clusters: int = 0
    end: int = 0
    moved: int = 0

    def names(self) -> list[str]:
        """From the bottom up."""
        found, stack = [], self
        while stack.below:
            found.append(stack.top)
            stack = stack.below
        return found[::-1]


def _rearranged(
    names: list[str], wanted: Mapping[str, int], own: Mapping[str, Range]
) -> tuple[Range, ...]:
    """Stack the clusters, following only the best stack of each set of clusters."""
    # 70 sets of four are the most that 8 clusters have of any size, so none of theirs is dropped.
    # Beyond that fewer are followed the more clusters there are: the work stays within bounds.
    width = min(70, 20_000 // len(names) ** 2)
    if not width:
        return _stack(names, wanted)
    stacks = [_Stack()]
    for _ in names:
        best: dict[int, _Stack] = {}
        for stack in stacks:
            for bit, name in enumerate(names):
                clusters = stack.clusters | 1 << bit
                if clusters == stack.clusters:
                    continue
                moved = stack.moved + _lost(Range(name, stack.end, wanted[name]), own)
                if clusters not in best or moved < best[clusters].moved:
                    end = stack.end + wanted[name]
                    best[clusters] = _Stack(name, stack, clusters, end, moved)
        stacks = sorted(best.values(), key=lambda stack: stack.moved)[:width]
    return _stack(stacks[0].names(), wanted)


def _in_slots(
    wanted: Mapping[str, int], current: tuple[Range, ...], stride: int
) -> tuple[Range, ...]:
    """Ranges that begin where the cluster's own slot does; a new cluster gets the lowest free."""
    if stride < 1:
        raise Invalid("stride", stride, "must be at least 1")
    for name, replicas in wanted.items():
        if replicas > stride:
            problem = f"does not fit into the {stride} ordinals reserved for it; raise the stride"
            raise Invalid(f"replicas[{name}]", replicas, problem)
    slots: dict[int, str] = {}
    for each in sorted(current, key=lambda each: (each.start, -each.count, each.cluster)):
        if each.start % stride == 0:
            slots.setdefault(each.start // stride, each.cluster)
    free = (slot for slot in count() if slot not in slots)
    placed = set(slots.values())
    new = sorted(name for name, replicas in wanted.items() if replicas and name not in placed)
    slots.update(zip(free, new, strict=False))
    return tuple(Range(slots[k], k * stride, wanted.get(slots[k], 0)) for k in sorted(slots))


def _moves(
    current: tuple[Range, ...], ranges: tuple[Range, ...], fenced: frozenset[str]
) -> tuple[GiveUp | Take, ...]:
    """First give up, from the top down, then take, from the bottom up."""
    before = {each.cluster: each for each in current}
    after = {each.cluster: each for each in ranges}
    leaving = [
        piece for each in current for piece in _without(each, after.get(each.cluster, _none("")))
    ]
    give_ups = [GiveUp(each) for each in sorted(leaving, key=lambda each: -each.start)]
    takes = [
        Take(piece, tuple(each for each in give_ups if _awaits(piece, have, each, fenced)))
        for target in sorted(ranges, key=lambda each: each.start)
        for have in [before.get(target.cluster, _none(target.cluster))]
        for piece in _without(target, have)
    ]
    return (*give_ups, *takes)


def _awaits(piece: Range, have: Range, give_up: GiveUp, fenced: frozenset[str]) -> bool:
    leaving = give_up.ordinals
    if leaving.cluster == piece.cluster:
        return leaving == have  # It keeps nothing, and has one range at a time.
    return leaving.cluster not in fenced and _shared(piece, leaving) > 0


def _towards(target: Range, have: Range, others: list[Range]) -> Range:
    """The most of its target that a cluster may run, given what the others may be running."""
    kept = _common(target, have)
    if have.count and not kept.count:
        return _none(target.cluster)  # One range at a time: the old one ends before the new begins.
    blocked = [piece for other in others for piece in _without(other, kept)]
    runs = [target] if target.count else []
    for each in blocked:
        runs = [piece for run in runs for piece in _without(run, each)]
    return max(
        runs,
        key=lambda run: (_common(run, kept).count, run.count, -run.start),
        default=_none(target.cluster),
    )


def _reason(rest: Range, have: Range, others: list[Range]) -> str:
    blocking = [(each, _common(rest, each)) for each in others]
    found = [f"{each.cluster} may still run {both}" for each, both in blocking if both.count]
    return ", ".join(found) or f"{rest.cluster} stops {have} first"
