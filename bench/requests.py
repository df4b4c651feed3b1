"""Writes, by verb and resource: as an API server has counted them, or as requests ask for them.

In: the text of /metrics, or a request. Out: what was written how often, without what is not our
concern: leases, by which servers say that they live.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from atoll.exchange import Request

_COUNT = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_READS = frozenset(["GET", "LIST", "WATCH", "WATCHLIST", "CONNECT", "HEAD"])
_PATH = re.compile(
    r"^/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+(?=/))?/([^/]+)(?:/[^/]+(?:/(.+))?)?$"
)


@dataclass(frozen=True, slots=True)
class Written:
    """How often a verb was used on a resource; refused ones are apart."""

    verb: str
    resource: str
    subresource: str
    count: int
    refusal: str = ""

    def __str__(self) -> str:
        place = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {place}{f': {self.refusal}' if self.refusal else ''}"


def writes(metrics: str) -> Iterator[Written]:
    for labels, count in _COUNT.findall(metrics):
        said = dict(_LABEL.findall(labels))
        verb, resource, code = (said.get(each, "") for each in ("verb", "resource", "code"))
        if verb not in _READS and resource not in ("", "leases"):
            refusal = "" if code.startswith("2") else code
            part = said.get("subresource", "")
            yield Written(verb, resource, part, int(float(count)), refusal)


def written(request: Request, where: str) -> str:
    """A write by where it goes, verb and resource; events are a place of their own."""
    found = _PATH.match(request.path)
    resource, part = found.groups() if found else (request.path, None)
    made = Written(request.method, resource, part or "", 1)
    return f"{'events' if resource == 'events' else where} {made}"
