"""Numbers about the server for Prometheus, under kube-apiserver's names where they mean the same.

A request is counted under what is served rather than under what was asked for, so that nobody can
make up names to fill the memory; what becomes known of it on its way is its Trail. The text is made
when somebody asks for it.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from atoll.apiserver.resource import Resource
from atoll.instruments.families import Family, Labels, More, histogram, text_of
from atoll.instruments.process import process


@dataclass(slots=True)
class Trail:
    """One request: filled while it is served, looked at when it is answered."""

    audit_id: str
    warnings: list[str] = field(default_factory=list)  # for the response's headers
    verb: str = ""
    resource: Resource | None = None  # if it is about one that is served
    subresource: str = ""
    scope: str = ""
    record: Any = None  # what the audit has of it, if there is one


BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_VERBS = {
    **{verb: verb.upper() for verb in ("get", "list", "watch", "patch", "delete")},
    "create": "POST",
    "update": "PUT",
    "deletecollection": "DELETECOLLECTION",
}
_METHODS = frozenset(["GET", "POST", "PUT", "PATCH", "DELETE"])
_READING = frozenset(["GET", "HEAD"])

Key = tuple[str, str, str, str, str, str, str]
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "dry_run")


@dataclass(slots=True)
class Series:
    """The requests of one kind: how many ended how, and how long they took."""

    codes: dict[int, int] = field(default_factory=dict)
    total_s: float = 0.0
    slots: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))


@dataclass(slots=True)
class Metrics:
    """Counts requests. `more` are families that others know of."""

    more: tuple[More, ...] = ()
    _series: dict[Key, Series] = field(default_factory=dict)
    _reading: int = 0
    _writing: int = 0

    def begin(self, method: str) -> None:
        if method in _READING:
            self._reading += 1
        else:
            self._writing += 1

    def end(self, method: str, query: str, trail: Trail, code: int, took_s: float) -> None:
        """A request is answered; one that goes on as a stream has taken the time to its start."""
        if method in _READING:
            self._reading -= 1
        else:
            self._writing -= 1
        found = trail.resource
        dry = "All" if query and "dryRun=All" in query else ""
        if found is None:
            verb = method if method in _METHODS else "OTHER"
            key: Key = (verb, "", "", "", trail.subresource, trail.scope, dry)
        else:
            verb = _VERBS.get(trail.verb, "OTHER")
            place = (found.group, found.version, found.plural)
            key = (verb, *place, trail.subresource, trail.scope, dry)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = Series()
        codes = series.codes
        codes[code] = codes.get(code, 0) + 1
        series.total_s += took_s
        series.slots[bisect_left(BUCKETS, took_s)] += 1

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        more = (family for more in self.more for family in more())
        return text_of([*self._own(), *more, *process()])

    def _own(self) -> Iterator[Family]:
        yield (
            "apiserver_current_inflight_requests",
            "gauge",
            "Requests that are being answered now, by whether they write.",
            [
                ("", (("request_kind", "mutating"),), self._writing),
                ("", (("request_kind", "readOnly"),), self._reading),
            ],
        )
        yield (
            "apiserver_request_total",
            "counter",
            "Requests answered, by verb, dry run, resource, scope and status code.",
            [
                ("", (("code", str(code)), *_labels(key)), count)
                for key, series in self._series.items()
                for code, count in series.codes.items()
            ],
        )
        yield (
            "apiserver_request_duration_seconds",
            "histogram",
            "How long answers took, by verb, dry run, resource and scope.",
            histogram(
                {_labels(key): (one.slots, one.total_s) for key, one in self._series.items()},
                BUCKETS,
            ),
        )


def _labels(key: Key) -> Labels:
    return (("component", "apiserver"), *sorted(zip(_LABELS, key, strict=True)))
