"""A recorded decision as a picture for people: from all clusters, step by step, to the replicas.

What was recorded comes in (an Explanation's decision, the binding, its policy), lines go out. All
numbers are those of the record: nothing is decided, estimated or looked up here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from atoll.cli.amounts import ago, count_of, hourly, monthly
from atoll.cli.tables import FULL, lines, padded, width
from atoll.dialects.karmada import names
from atoll.wire import Object

MANY = 20
"""More clusters than this are not shown filter by filter."""
_ANY = 2**31 - 1
_BAR_MOST = 24
_BEFORE_SELECTION = frozenset({"filtered", "deleting", "group", "rank", "room", "not selected"})
_OK, _FAIL, _SPARED, _UNASKED = "ok", "FAIL", "kept", "."


@dataclass(frozen=True, slots=True)
class Seen:
    """All that is known of one placement when it is drawn."""

    decision: Object
    newest: int
    binding: Object
    policy: Object | None
    now: datetime
    changes: Sequence[str] | None = None
    """What would place it otherwise; None if nobody asked or nobody knows."""

    @property
    def ok(self) -> bool:
        return bool(self.outcome.get("verdict") == "Success")

    @property
    def outcome(self) -> Object:
        found: Object = self.decision.get("outcome") or {}
        return found

    @property
    def clusters(self) -> list[Object]:
        """Each cluster's part: those chosen first, in the order of their replicas."""
        found = list(self.decision.get("clusters") or ())
        return sorted(found, key=lambda each: (not each.get("chosen"), -each.get("replicas", 0)))


def picture(seen: Seen, most: int | None = None) -> Iterator[str]:
    """The whole picture, as wide as it may be."""
    yield from _header(seen, most)
    yield ""
    yield f" 1 CANDIDATES   {count_of(seen.decision.get('fleetSize', 0), 'cluster')}"
    yield from _filters(seen, most)
    yield from _scores(seen)
    yield from _estimates(seen)
    yield from _selection(seen)
    yield from _division(seen, most)
    yield from _cost(seen)
    yield from _result(seen)
    if seen.changes is not None:
        yield ""
        yield "WHAT WOULD CHANGE IT (were it placed anew now)"
        yield from (f"  {each}" for each in seen.changes or ("none of the small changes tried",))


def short(seen: Seen) -> Iterator[str]:
    """The outcome in a line, and a line for every cluster that got nothing."""
    yield f"{_subject(seen)}: {_placed(seen)}"
    left = [each for each in seen.clusters if not each.get("chosen")]
    wide = max((width(each["name"]) for each in left), default=0)
    for each in left:
        yield f"  {padded(each['name'], wide)}  {_fate(each)}"
    if not left:
        for reason in seen.decision.get("reasons") or ():
            yield f"  {count_of(reason['count'], 'cluster')}  {_plain(reason['reason'])}"
    if not seen.ok:
        yield f"  {seen.outcome.get('verdict')}: {seen.outcome.get('message', '')}"


def part_of(seen: Seen, cluster: Object) -> Iterator[str]:
    """One cluster's part in the decision."""
    name = cluster["name"]
    if cluster.get("chosen"):
        yield f"{_subject(seen)}: {name} is chosen, with {_replicas(cluster.get('replicas', 0))}"
    else:
        yield f"{_subject(seen)}: {name} is {_fate(cluster)}"
    for each in cluster.get("turnedAwayBy") or ():
        yield f"  filter    {each['filter']}: {_plain(each['reason'])}"
    if "rank" in cluster:
        passed = seen.decision.get("passed", 0)
        yield f"  rank      {cluster['rank']} of {passed}, score {cluster.get('score', 0)}"
    for each in cluster.get("groups") or ():
        yield f"  group     {each['by']} {each['name']}"
    if "room" in cluster:
        yield f"  room      {_room(cluster['room'])}{_answers(cluster)}"
    if cluster.get("unitCost"):
        yield f"  price     {hourly(cluster['unitCost'])} for one replica"
    for each in seen.changes or ():
        if name in each:
            yield f"  change    {each}"


def _header(seen: Seen, most: int | None) -> Iterator[str]:
    spec = seen.binding.get("spec") or {}
    resource = spec.get("resource") or {}
    where = "/".join(filter(None, (resource.get("namespace"), resource.get("name", ""))))
    kind = str(resource.get("kind", "")).upper()
    made = f"decided {ago(seen.decision.get('time', ''), seen.now)} ago"
    by = spec.get("schedulerName")
    number = f"decision {seen.decision.get('number', seen.newest)} of {seen.newest}"
    facts = [_size(seen, spec), f"{made} by {by}" if by else made, number]
    wide = max(len(kind), len("BINDING")) + 1
    for title, told in (
        (kind, [where, *filter(None, facts)]),
        ("POLICY", [_policy(seen)]),
        ("BINDING", _binding(seen)),
    ):
        yield from _wrapped(padded(title, wide), told, most)


def _size(seen: Seen, spec: Object) -> str:
    replicas = seen.decision.get("replicas", 0)
    if not replicas:
        return ""
    requests = (spec.get("replicaRequirements") or {}).get("resourceRequest") or {}
    each = [f"{requests[key]} {key.upper()}" for key in ("cpu",) if key in requests]
    each += [str(value) for key, value in requests.items() if key == "memory"]
    each += [f"{value} {key}" for key, value in requests.items() if key not in ("cpu", "memory")]
    return _replicas(replicas) + (f" × ({', '.join(each)})" if each else "")


def _policy(seen: Seen) -> str:
    metadata = seen.binding.get("metadata") or {}
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    named = marks.get(names.POLICY_NAME), marks.get(names.CLUSTER_POLICY_NAME)
    if not any(named):
        users = (seen.binding.get("spec") or {}).get("requiredBy") or ()
        others = ", ".join(sorted(str(each.get("name", "")) for each in users))
        return f"none of its own; it goes where rb/{others} goes" if others else "none"
    title = f"pp/{named[0]}" if named[0] else f"cpp/{named[1]}"
    if seen.policy is None:
        return f"{title} (it is there no more)"
    spec = seen.policy.get("spec") or {}
    return f"{title} ({_selected_by(spec, seen.binding)}, priority {spec.get('priority', 0)})"


def _selected_by(spec: Object, binding: Object) -> str:
    resource = (binding.get("spec") or {}).get("resource") or {}
    mine = [
        each for each in spec.get("resourceSelectors") or () if each.get("kind") == resource["kind"]
    ]
    if any(each.get("name") == resource.get("name") for each in mine):
        return "selects it by name"
    if any(each.get("labelSelector") for each in mine):
        return "selects it by labels"
    return "selects all of its kind" if mine else "selects it no more"


def _binding(seen: Seen) -> list[str]:
    metadata, status = seen.binding["metadata"], seen.binding.get("status") or {}
    generation, observed = metadata.get("generation"), status.get("schedulerObservedGeneration")
    same = "=" if generation == observed else "≠"
    conditions = [f"{each['type']}={each['status']}" for each in status.get("conditions") or ()]
    kind = "rb" if metadata.get("namespace") else "crb"
    about = f"generation {generation} {same} observed {observed or 'none'}"
    return [f"{kind}/{metadata['name']}", about, *conditions]


def _filters(seen: Seen, most: int | None) -> Iterator[str]:
    size, passed = seen.decision.get("fleetSize", 0), seen.decision.get("passed", 0)
    yield f" 2 FILTER       {passed} pass, {size - passed} out"
    asked, clusters = seen.decision.get("filters") or (), seen.clusters
    out = [each for each in clusters if each.get("turnedAwayBy") or each.get("fate") == "deleting"]
    if len(clusters) == size and 0 < size <= MANY and asked:
        table = [["CLUSTER", *asked, ""], *(_rulings(each, asked) for each in clusters)]
        drawn = [f"    {each}" for each in lines(table, gap=" ")]
        if most is None or max(map(width, drawn)) <= most:
            yield from drawn
            if any(each.get("sparedBy") for each in clusters):
                yield f"    ({_SPARED}: it runs there already, and this filter lets that be)"
            return
    if out:
        yield from _indented([each["name"], _plain(each.get("reason", ""))] for each in out)
    elif len(clusters) != size:
        for each in seen.decision.get("reasons") or ():
            if each.get("fate") == "filtered":
                yield f"    {count_of(each['count'], 'cluster')}: {_plain(each['reason'])}"


def _rulings(cluster: Object, asked: Sequence[str]) -> list[str]:
    failed = {each["filter"]: each["reason"] for each in cluster.get("turnedAwayBy") or ()}
    spared = set(cluster.get("sparedBy") or ())
    if cluster.get("fate") == "deleting":
        return [cluster["name"], *(_UNASKED for _ in asked), "is being removed"]
    said = [_FAIL if each in failed else _SPARED if each in spared else _OK for each in asked]
    return [cluster["name"], *said, "; ".join(map(_plain, failed.values()))]


def _scores(seen: Seen) -> Iterator[str]:
    standing = [each for each in seen.clusters if "rank" in each]
    if not standing:
        return
    by: dict[str, dict[int, list[str]]] = {}
    for each in standing:
        for one in each.get("scores") or ():
            by.setdefault(one["from"], {}).setdefault(one["score"], []).append(each["name"])
    told = []
    for plugin, scores in by.items():
        if len(scores) == 1:
            told.append(f"{plugin}: {next(iter(scores))} for all {len(standing)}")
        else:
            parts = (f"{score} for {', '.join(who)}" for score, who in sorted(scores.items())[::-1])
            told.append(f"{plugin}: {'; '.join(parts)}")
    first, *rest = told or ["no plug-in prefers one cluster to another"]
    yield f" 3 SCORE        {first}"
    yield from (f"                {each}" for each in rest)


def _estimates(seen: Seen) -> Iterator[str]:
    standing = [each for each in seen.clusters if "room" in each]
    if not standing:
        return
    yield " 4 ESTIMATE     room for more replicas; of several answers the least counts"
    yield from _indented(
        [each["name"], _room(each["room"]), _answers(each).strip()] for each in standing
    )


def _answers(cluster: Object) -> str:
    """Who said what, where there is more than one answer."""
    told = cluster.get("estimates") or ()
    if len({each["replicas"] for each in told}) < 2:
        return f" ({', '.join(each['from'] for each in told)})" if told else ""
    answers = (
        f"{each['from']} says {_room(each['replicas'])}"
        + (f": {each['because']}" if each.get("because") else "")
        for each in told
    )
    return f" ({', '.join(answers)})"


def _selection(seen: Seen) -> Iterator[str]:
    who = seen.decision.get("selection")
    if not who:
        return
    selected = [each for each in seen.clusters if each.get("fate") not in _BEFORE_SELECTION]
    passed = seen.decision.get("passed", 0)
    kept = f"{len(selected)} of {passed} kept" if len(selected) < passed else f"all {passed} kept"
    if len(seen.clusters) != seen.decision.get("fleetSize"):
        kept = f"out of {passed}"
    yield f" 5 SELECT       {who}: {kept}"
    groups = seen.decision.get("groups") or ()
    for by in dict.fromkeys(each["by"] for each in groups):
        told = [_group(seen, each) for each in groups if each["by"] == by]
        yield from _indented([by, *each] for each in told)


def _group(seen: Seen, group: Object) -> list[str]:
    mine = {"by": group["by"], "name": group["name"]}
    members = [each["name"] for each in seen.clusters if mine in (each.get("groups") or ())]
    inside = f"{group['name']}{{{', '.join(members)}}}" if members else group["name"]
    return [inside, f"score {group['score']}", "taken" if group.get("taken") else "not taken"]


def _division(seen: Seen, most: int | None) -> Iterator[str]:
    who, sums = seen.decision.get("division"), seen.decision.get("sums") or ()
    targets = seen.decision.get("targets") or ()
    if not who and not targets:
        return
    if not sums:
        how = f"{who}: " if who else ""
        each = f"all {_replicas(seen.decision['replicas'])} in each" if who else "no replicas"
        yield f" 6 DIVIDE       {how}{each}"
        yield from _indented([one["name"], str(one.get("replicas", 0))] for one in targets)
        return
    seats = sum(each["seats"] for each in sums)
    votes = " : ".join(str(line["votes"]) for one in sums for line in one["lines"] if line["won"])
    by = f" by {votes}" if votes else ""
    yield f" 6 DIVIDE       {who}, {sums[-1]['method']}: {_replicas(seats)}{by}"
    won = {line["name"]: line for one in sums for line in one["lines"]}
    largest = max((each.get("replicas", 0) for each in targets), default=0)
    room = _BAR_MOST if most is None else max(min(_BAR_MOST, most - 50), 4)
    rows = []
    for target in sorted(targets, key=lambda each: -each.get("replicas", 0)):
        count = target.get("replicas", 0)
        length = count if largest <= room else max(round(count * room / largest), 1 if count else 0)
        line = won.get(target["name"])
        rows.append([target["name"], str(count), FULL * length, _share(line) if line else ""])
    yield from _indented(rows)
    placed = sum(each.get("replicas", 0) for each in targets)
    if placed < seen.decision.get("replicas", 0):
        yield f"    {seen.decision['replicas'] - placed} more found no room"


def _share(line: Object) -> str:
    kept = f"{line['kept']} kept" if line.get("kept") else ""
    votes = count_of(line["votes"], "vote")
    won = f"{votes}: share {line['share']}, so {line['won']}" if line["won"] else ""
    return ", ".join(filter(None, (kept, won)))


def _cost(seen: Seen) -> Iterator[str]:
    cost = seen.decision.get("cost")
    if not cost:
        return
    each = [f"{one['name']} {hourly(one['perHour'])}" for one in seen.decision.get("costs") or ()]
    yield f" COST           {hourly(cost)}{monthly(cost)}   {' · '.join(each)}".rstrip()


def _result(seen: Seen) -> Iterator[str]:
    if not seen.ok:
        yield f" RESULT         {seen.outcome.get('verdict')}: {seen.outcome.get('message', '')}"
    elif not seen.decision.get("targets"):
        yield f" RESULT         {seen.outcome.get('summary', '')}"


def _subject(seen: Seen) -> str:
    resource = (seen.binding.get("spec") or {}).get("resource") or {}
    return f"{str(resource.get('kind', '')).lower()}/{resource.get('name', '')}"


def _placed(seen: Seen) -> str:
    targets = seen.decision.get("targets") or ()
    if not targets:
        return str(seen.outcome.get("summary") or "nowhere")
    replicas = seen.decision.get("replicas", 0)
    if not replicas:
        return f"on {' '.join(each['name'] for each in targets)}"
    placed = sum(each.get("replicas", 0) for each in targets)
    ordered = sorted(targets, key=lambda each: -each.get("replicas", 0))
    where = " ".join(f"{each['name']}={each.get('replicas', 0)}" for each in ordered)
    return f"{placed}/{replicas} on {where}"


def _fate(cluster: Object) -> str:
    turned = cluster.get("turnedAwayBy") or ()
    if turned:
        told = "; ".join(f"{each['filter']} – {_plain(each['reason'])}" for each in turned)
        return f"filtered: {told}"
    several = len(cluster.get("estimates") or ()) > 1
    answers = _answers(cluster) if several else ""
    return f"not used: {_plain(cluster.get('reason', ''))}{answers}"


def _plain(reason: str) -> str:
    """A filter's reason, told of one cluster rather than counted."""
    return reason.removeprefix("cluster(s) ").removeprefix("had ")


def _room(room: int) -> str:
    return "any number" if room >= _ANY else str(room)


def _replicas(count: int) -> str:
    return count_of(count, "replica")


def _wrapped(title: str, facts: Sequence[str], most: int | None) -> Iterator[str]:
    """Facts in one line, or in as many as it takes on a narrow terminal."""
    line, blank = title + facts[0], " " * width(title)
    for fact in facts[1:]:
        longer = f"{line}   {fact}"
        if most is not None and width(longer) > most:
            yield line
            longer = blank + fact
        line = longer
    yield line


def _indented(rows: Iterator[list[str]] | Sequence[list[str]]) -> Iterator[str]:
    return (f"    {each}" for each in lines(rows, gap="  "))
