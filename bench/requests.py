"""Writes that an API server has counted, read from its metrics.

In: the text of /metrics. Out: how often objects were written, without what is not our concern:
leases, by which servers say that they live.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COUNT = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_READS = frozenset(["GET", "LIST", "WATCH", "WATCHLIST", "CONNECT", "HEAD"])


@dataclass(frozen=True, slots=True)
class Written:
    """How often a verb was used on a resource."""

    verb: str
    resource: str
    subresource: str
    count: int


def writes(metrics: str) -> Iterator[Written]:
    for labels, count in _COUNT.findall(metrics):
        said = dict(_LABEL.findall(labels))
        verb, resource = said.get("verb", ""), said.get("resource", "")
        if verb not in _READS and resource not in ("", "leases"):
            yield Written(verb, resource, said.get("subresource", ""), int(float(count)))
