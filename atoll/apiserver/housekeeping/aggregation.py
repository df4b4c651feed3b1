"""ClusterRoles that collect the rules of others, chosen by their labels.

`collected` says what such a role allows, purely; the service follows the store and writes it down.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import orjson

from atoll.apiserver.access.roles import GROUP
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, revise
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.verbs.call import Api
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.errors import Invalid
from atoll.store.record import Event
from atoll.wire import Wire

COLLECTION = f"clusterroles.{GROUP}"


def collected(role: Wire, others: Iterable[Wire]) -> list[Wire]:
    """The rules of all roles that this one selects, each rule once."""
    wanted = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    rules: list[Wire] = []
    for selector in wanted:
        try:
            chosen = label_selector(selector, "aggregationRule")
        except Invalid:  # as in Kubernetes, it selects nothing
            continue
        for other in others:
            meta = metadata(other)
            if meta["name"] != metadata(role)["name"] and chosen.matches(meta.get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


class Aggregation(Upkeep):
    """Follows ClusterRoles and keeps those up to date that collect others."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "roles that collect others")

    def load(self) -> None:
        self._work.add(COLLECTION)

    def follow(self, events: Sequence[Event]) -> None:
        if any(event.after.collection == COLLECTION for event in events):
            self._work.add(COLLECTION)

    async def _look(self, collection: str) -> None:
        """Look at all of them: they are few, and one may collect what another has collected."""
        records = self._api.store.page(collection).records
        roles: list[Wire] = [orjson.loads(record.value) for record in records]
        for role in roles:
            if role.get("aggregationRule") is None:
                continue
            rules = collected(role, roles)
            if rules != (role.get("rules") or []):
                call = call_on(self._api, collection, "", metadata(role)["name"])
                await revise(self._api, call, partial(_with_rules, rules))


def _with_rules(rules: list[Wire], role: Wire) -> Wire:
    return {**role, "rules": rules}
