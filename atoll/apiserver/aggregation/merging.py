"""Discovery of what is served here together with what is served behind this server. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from atoll.apiserver.aggregation.finding import Findings
from atoll.apiserver.aggregation.remote import Remote
from atoll.apiserver.catalog import Catalog, version_rank
from atoll.wire import Wire

Place = tuple[str, str]

_UNKNOWN = Findings(stale=True)
_LOCAL_VERSION, _CUSTOM_VERSION = 15, 100


@dataclass(frozen=True, slots=True)
class Behind:
    """What is served behind this server, at one moment."""

    remotes: Mapping[Place, Remote]
    findings: Mapping[Place, Findings]

    def version(self, group: str, version: str) -> Wire | None:
        """A version as the aggregated document lists it; None if it is served here."""
        if (group, version) not in self.remotes:
            return None
        found = self.findings.get((group, version), _UNKNOWN)
        resources = {"resources": list(found.resources)} if found.resources else {}
        return {"version": version, **resources, "freshness": "Stale" if found.stale else "Current"}

    def openapi(self) -> dict[str, str]:
        """Where OpenAPI documents of what is behind this server are, by their path."""
        return {
            remote.root.lstrip("/"): found.openapi
            for place, remote in self.remotes.items()
            if (found := self.findings.get(place)) is not None and found.openapi and not found.stale
        }


NOTHING_BEHIND = Behind({}, {})


def merged_groups(catalog: Catalog, behind: Behind) -> Mapping[str, tuple[str, ...]]:
    """All groups with their versions, each in the order in which discovery tells them."""
    here = catalog.index.groups
    if not behind.remotes:
        return here
    ranks: dict[str, int] = {group: catalog.priority(group) for group in here}
    found = {group: list(versions) for group, versions in here.items()}
    for (group, version), remote in behind.remotes.items():
        ranks[group] = max(ranks.get(group, 0), remote.group_priority)
        if version not in found.setdefault(group, []):
            found[group].append(version)

    def rank(group: str, version: str) -> tuple[object, ...]:
        remote = behind.remotes.get((group, version))
        if remote is not None:
            return (-remote.version_priority, version_rank(version))
        resources = catalog.index.versions[group, version]
        custom = all(resource.custom for resource in resources)
        return (-(_CUSTOM_VERSION if custom else _LOCAL_VERSION), version_rank(version))

    touched = {group for group, _ in behind.remotes}
    for group in touched:
        found[group].sort(key=lambda version: rank(group, version))
    order = sorted(found, key=lambda group: (-ranks[group], group))
    return {group: tuple(found[group]) for group in order}
