"""A report in plain words: short sentences, one per line, for people.

A report comes in, lines of text go out; how they are laid out is for whoever shows them. Clusters
are told one by one as long as they are few, and by what they have in common if they are many.
"""

from collections.abc import Iterable, Iterator

from atoll.scheduling.arithmetic import Arithmetic, Bid, Line
from atoll.scheduling.cluster_report import ClusterReport
from atoll.scheduling.explain import Report, TermReport, Weighing
from atoll.scheduling.fates import FILL, Fate, Reason
from atoll.scheduling.whole_numbers import INT32_MOST

MANY = 50
"""More clusters than this are not told one by one."""
_SHOWN = 8
_METHODS = {
    "static weight": "by weight",
    "free capacity": "by free capacity",
    "aggregated": "by free capacity, in as few clusters as hold them",
}


def sentences(report: Report) -> list[str]:
    """The whole report, most important first."""
    return [
        outcome(report),
        *_other_terms(report),
        *_told(report.decisive),
        *([f"cost: {report.cost}"] if report.cost else ()),
        *_clusters(report.decisive),
    ]


def outcome(report: Report) -> str:
    """What was decided, in one sentence."""
    if not report.ok:
        return f"{report.verdict}: {report.message}"
    if not report.targets:
        return "there are no replicas to place, so no cluster holds any"
    where = _clusters_count(len(report.targets))
    replicas = {each.replicas for each in report.targets}
    names = _listed(each.name for each in report.targets)
    if replicas == {0}:
        return f"placed in {where}: {names}"
    total = sum(each.replicas for each in report.targets)
    if len(replicas) == 1 and total > report.replicas:
        return f"{_replicas(report.replicas)} in each of {where}: {names}"
    counts = _listed(f"{each.name} {each.replicas}" for each in report.targets)
    told = f"{_replicas(total)} in {where}: {counts}"
    missing = report.replicas - total
    return f"{told}; {missing} more found no room" if missing > 0 else told


def about(cluster: ClusterReport) -> str:
    """One cluster's part, in one line."""
    if cluster.chosen:
        ran = "" if cluster.before in (None, cluster.replicas) else f" (ran {cluster.before})"
        what = _replicas(cluster.replicas) if cluster.replicas else "chosen"
        return f"{cluster.name}  {what}{ran}"
    also = [each.said for each in cluster.turned_away if each.said != cluster.reason.text]
    text = _plain(cluster.reason)
    if cluster.reason.fate is Fate.RANK and cluster.rank is not None:
        text = f"ranked {_ordinal(cluster.rank)}; {text}"
    if cluster.reason.fate is Fate.REFUSED and cluster.room is not None:
        text = f"{text}; it has room for {_room(cluster.room)}"
    return f"{cluster.name}  not chosen: {'; also: '.join([text, *map(_singular, also)])}"


def _other_terms(report: Report) -> Iterator[str]:
    for term in report.terms:
        if term is not report.decisive:
            name = term.term or "the placement"
            yield f"{name}: {term.refusal or 'taken'}"


def _told(term: TermReport) -> Iterator[str]:
    total = len(term.record.roll.names)
    candidates, selected = term.trial.candidates, term.trial.selected
    feasible = 0 if candidates is None else len(candidates)
    yield f"{feasible} of {_clusters_count(total)} passed the filters"
    if selected is not None and len(selected) < feasible:
        yield f"{term.trial.selection} selected {len(selected)} of {feasible}"
    for weighing in term.weighings:
        yield from _groups(weighing, by_score=term.trial.selection == "SpreadByRegion")
    yield from map(_sum, term.sums)
    if not term.sums and term.trial.division == "Duplicated":
        yield f"every cluster selected runs all {_replicas(term.record.replicas)}"


def _groups(weighing: Weighing, *, by_score: bool) -> Iterator[str]:
    taken = [each for each in weighing.groups if each.taken]
    left = [each for each in weighing.groups if not each.taken]
    by = "score" if by_score else "room"
    if taken:
        told = (
            f"{each.name} ({by} {each.score}, {_clusters_count(each.clusters)})" for each in taken
        )
        total = sum(each.score for each in taken)
        best = f", the best combination with a score of {total} in all" if by_score and left else ""
        yield f"taken by {weighing.key}: {_listed(told)}{best}"
    if left:
        others = sorted(left, key=lambda each: (-each.score, each.name))
        told = (f"{each.name} ({by} {each.score})" for each in others)
        yield f"{'not taken' if taken else 'there are'} by {weighing.key}: {_listed(told)}"


def _sum(told: Arithmetic) -> str:
    if not told.seats and told.lines:
        kept = _listed(f"{each.cluster} {each.kept}" for each in told.lines)
        return f"nothing to add or take away; what runs stays: {kept}"
    how = _METHODS.get(told.method, f"by {told.method}")
    parts = [f"{_replicas(told.seats)} {how}: {_listed(_line(each, told) for each in told.lines)}"]
    if told.others:
        others = "1 other gets" if told.others == 1 else f"{told.others} others get"
        of = "" if _fills(told) else f", with {told.others_votes} of the votes"
        parts.append(f"{others} none{of}")
    if (
        told.last
        and told.runner_up
        and not _fills(told)
        and sum(1 for each in told.lines if each.won) > 1
    ):
        tie = " (a tie)" if told.last.value == told.runner_up.value else ""
        parts.append(f"the last went to {_bid(told.last)}, next is {_bid(told.runner_up)}{tie}")
    return "; ".join(parts)


def _line(line: Line, told: Arithmetic) -> str:
    kept = f" and {line.kept} kept" if line.kept else ""
    if not line.won:
        return f"{line.cluster}{kept}"
    if _fills(told):
        return f"{line.cluster} {line.won} into room for {line.votes}{kept}"
    share = f"{line.votes} of {told.votes} is {line.share:.2f}, so {line.won}"
    return f"{line.cluster} {share}{kept}"


def _fills(told: Arithmetic) -> bool:
    """Whether clusters are filled one after the other, rather than in proportion."""
    return told.method.startswith(FILL)


def _bid(bid: Bid) -> str:
    return f"{bid.cluster} at {bid.votes}/{bid.divisor} = {bid.value:.4g}"


def _clusters(term: TermReport) -> Iterator[str]:
    if len(term.record.roll.names) <= MANY:
        yield from map(about, sorted(term.clusters, key=lambda each: not each.chosen))
        return
    assignment, names = term.trial.assignment, term.record.roll.names
    if assignment is not None:
        rows, replicas = assignment.rows[:MANY].tolist(), assignment.replicas[:MANY].tolist()
        for row, count in zip(rows, replicas, strict=True):
            yield f"{names[row]}  {_replicas(count) if count else 'chosen'}"
        if len(assignment.rows) > MANY:
            yield f"and {len(assignment.rows) - MANY} more"
    for code, (count, reason) in enumerate(zip(term.fates.counts, term.fates.reasons, strict=True)):
        if count and reason.fate is not Fate.CHOSEN:
            some = names[term.fates.rows(code)[:_SHOWN]].tolist()
            told = ", ".join(some) + (", ..." if count > len(some) else "")
            yield f"{_clusters_count(count)} not chosen: {_plain(reason)} ({told})"


def _plain(reason: Reason) -> str:
    return _singular(reason.text) if reason.filter else reason.text


def _singular(text: str) -> str:
    """A filter's reason, told of one cluster rather than counted."""
    return text.removeprefix("cluster(s) ")


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def _room(room: int) -> str:
    return "any number" if room >= INT32_MOST else f"{room} more"


def _clusters_count(count: int) -> str:
    return "1 cluster" if count == 1 else f"{count} clusters"


def _listed(items: Iterable[str]) -> str:
    told = list(items)
    more = len(told) - _SHOWN
    return ", ".join(told[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
