"""An APIService for every version of a group that is served here, kept by the server itself.

Those of built-in groups are seen to at the start, once: whoever changes one until then has meant
it. Those of custom resources come and go with them. One that does not carry our label is somebody
else's and is left alone, also where it takes a group's version away from us.
"""

from collections.abc import Mapping, Sequence

import orjson

from atoll.apiserver.housekeeping.acting import Upkeep, call_on, delete_one, ensure, revise
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.kinds.apiregistration import GROUP
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import Facts
from atoll.apiserver.verbs.call import Api
from atoll.runtime.children import Children
from atoll.store.record import Event, Record
from atoll.wire import Wire

COLLECTION = f"apiservices.{GROUP}"
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
ALWAYS, ON_START = "true", "onstart"

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_CUSTOM = {"groupPriorityMinimum": 1000, "versionPriority": 100}
# Groups that are built in here, and that Kubernetes does not know.
_OWN_KINDS = {"groupPriorityMinimum": 2000, "versionPriority": 15}


Priorities = Mapping[tuple[str, str], Wire]


def service_of(
    group: str, version: str, resources: Sequence[Resource], priorities: Priorities
) -> Wire | None:
    """The service of a version that is served here; None for the one that needs none."""
    if group == GROUP:
        return None  # who keeps the others needs nobody to keep it
    custom = all(resource.custom for resource in resources)
    place = {"group": group} if group else {}
    rank = _CUSTOM if custom else priorities.get((group, version), _OWN_KINDS)
    name = f"{version}.{group}"
    return {
        "metadata": {"name": name, "labels": {MANAGED: ALWAYS if custom else ON_START}},
        "spec": {**place, "version": version, **rank},
    }


def priorities_of(facts: Facts) -> dict[tuple[str, str], Wire]:
    """How Kubernetes ranks its own groups and their versions."""
    return {
        (group.group, version.version): {
            "groupPriorityMinimum": group.priority,
            "versionPriority": version.priority,
        }
        for group in facts.groups
        for version in group.versions
    }


class Registrar(Upkeep):
    """Keeps the services of what is served here."""

    def __init__(self, api: Api, facts: Facts) -> None:
        super().__init__(api, "services of what is served here")
        self._priorities = priorities_of(facts)

    def load(self) -> None:
        """Whatever is missing or superfluous is found when the server starts."""

    async def start(self) -> None:
        """Have what shall be there, and nothing of ours besides."""
        services = [
            service
            for (group, version), resources in self._api.catalog.index.versions.items()
            if (service := service_of(group, version, resources, self._priorities))
        ]
        names = {service["metadata"]["name"] for service in services}
        records = self._api.store.page(COLLECTION).records
        steps = [self._have(service) for service in services]
        steps += [self._drop(record) for record in records if record.name not in names]
        async with Children("services of what is served here") as children:
            for task in [children.spawn(step, "one of them") for step in steps]:
                await task

    def follow(self, events: Sequence[Event]) -> None:
        """Look at the services of a definition that changed, and at ours that others change."""
        for event in events:
            if event.after.collection == COLLECTION:
                self._work.add(event.after.name)
            elif event.after.collection == _DEFINITIONS:
                self._note(event)

    def _note(self, event: Event) -> None:
        for record in (event.before, event.after):
            if record is None:
                continue
            spec = orjson.loads(record.value)["spec"]
            for version in spec["versions"]:
                self._work.add(f"{version['name']}.{spec['group']}")

    async def _look(self, name: str) -> None:
        version, _, group = name.partition(".")
        resources = self._api.catalog.index.versions.get((group, version), ())
        service = service_of(group, version, resources, self._priorities) if resources else None
        if service is not None and service["metadata"]["labels"][MANAGED] == ALWAYS:
            await self._have(service)
        record = self._api.store.get(COLLECTION, name)
        if service is None and record is not None and _managed(record) == ALWAYS:
            await self._drop(record)

    async def _have(self, service: Wire) -> None:
        """See to it that this service is there, unless somebody else sees to it."""
        name = service["metadata"]["name"]
        record = self._api.store.get(COLLECTION, name)
        if record is None:
            await ensure(self._api, COLLECTION, service)
        elif _managed(record) and orjson.loads(record.value).get("spec") != service["spec"]:
            call, spec = call_on(self._api, COLLECTION, "", name), {"spec": service["spec"]}
            await revise(self._api, call, lambda old: {**old, **spec})

    async def _drop(self, record: Record) -> None:
        if _managed(record):
            await delete_one(self._api, node_of(record), "Background")


def _managed(record: Record) -> str:
    """Whether and when we see to this service."""
    found = (metadata_of(record).labels or {}).get(MANAGED, "")
    return found if found in (ALWAYS, ON_START) else ""
