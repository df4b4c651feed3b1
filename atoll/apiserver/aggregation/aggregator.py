"""The servers behind this one: which there are, whether they answer, and what they serve.

Follows APIServices, Services and EndpointSlices; looks at every server now and then, and says on
its APIService what it found. What is known is an index that a request looks into: one empty
dictionary where nobody is behind this server.
"""

import asyncio
from collections.abc import Mapping, Sequence

import orjson

from atoll.apiserver.access.front_proxy import headers_of
from atoll.apiserver.aggregation.finding import (
    AGGREGATED,
    Findings,
    discovered,
    listed,
    openapi_place,
)
from atoll.apiserver.aggregation.merging import NOTHING_BEHIND, Behind, Place
from atoll.apiserver.aggregation.registering import COLLECTION
from atoll.apiserver.aggregation.remote import Fault, Remote, addresses_of, find_fault, remote_of
from atoll.apiserver.aggregation.ways import Way, Ways
from atoll.apiserver.authentication import MASTERS, Identity
from atoll.apiserver.housekeeping.acting import call_on, revise
from atoll.apiserver.objects.addresses import Address
from atoll.apiserver.objects.conditions import condition, with_condition
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.verbs.call import Api
from atoll.client.transport import Transport, Unreachable, whole
from atoll.errors import UsageError
from atoll.exchange import Request, Response
from atoll.runtime.children import Children
from atoll.runtime.worklist import Worklist
from atoll.store.record import Event, Record
from atoll.wire import Wire

SERVICES, SLICES = "services", "endpointslices.discovery.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
WORKERS = 4  # so many servers are looked at at once, for one that is silent takes its time
LOOK_AGAIN_S = 30.0
FIRST_RETRY_S = 0.25
AGGREGATOR = Identity("system:kube-aggregator", (MASTERS,))
_PASSED = ("Passed", "all checks passed")


class Aggregator:
    """Knows the servers behind this one, by group and version."""

    def __init__(self, api: Api, ways: Ways | None = None) -> None:
        self._api = api
        self._ways = ways or Ways(api.signing.front)
        self._work: Worklist[str] = Worklist("servers behind this one")
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}
        self.behind = NOTHING_BEHIND  # replaced whole, never changed

    @property
    def remotes(self) -> Mapping[Place, Remote]:
        return self.behind.remotes

    def load(self) -> None:
        for record in self._api.store.page(COLLECTION).records:
            self._note(record, removed=False)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            after = event.after
            if after.collection == COLLECTION:
                self._note(after, removed=event.removed)
            elif self.remotes and after.collection in (SERVICES, SLICES):
                self._look_behind(after)

    def _note(self, record: Record, *, removed: bool) -> None:
        version, _, group = record.name.partition(".")
        place = (group, version)
        remote = None if removed else remote_of(orjson.loads(record.value))
        if remote == self.remotes.get(place):
            return
        remotes, findings = dict(self.remotes), dict(self.behind.findings)
        if remote is not None:
            remotes[place] = remote
        else:
            del remotes[place]
            findings.pop(place, None)
        self.behind = Behind(remotes, findings)
        self._work.add(record.name)

    def _look_behind(self, record: Record) -> None:
        """Look again at the servers that are reached through this Service or slice."""
        meta = metadata_of(record)
        name = meta.name
        if record.collection == SLICES:
            name = (meta.labels or {}).get(SERVICE_NAME, "")
        for remote in self.remotes.values():
            if (remote.namespace, remote.service) == (meta.namespace, name):
                self._work.add(remote.name)

    def doubt(self, remote: Remote) -> None:
        """Somebody could not reach this server: look at it soon."""
        self._work.add(remote.name)

    async def run(self) -> None:
        try:
            async with Children("servers behind this one") as children:
                for task in [
                    children.spawn(self._work.run(self._look), f"worker {number}")
                    for number in range(WORKERS)
                ]:
                    await task
        finally:
            for timer in self._later.values():
                timer.cancel()
            await self._ways.close()

    async def _look(self, name: str) -> None:
        """See how a server is, say so, and look again some time."""
        version, _, group = name.partition(".")
        remote = self.remotes.get((group, version))
        if remote is None:
            self._failures.pop(name, None)
            await self._ways.drop(name)
            return
        fault = await self._examined(remote)
        if remote.name in self._failures and fault is None:
            del self._failures[name]
        if fault is None:
            await self._tell(remote, *_PASSED, holds=True)
        else:
            self._mark_stale(remote)
            await self._tell(remote, fault.reason, fault.message, holds=False)
        self._look_later(name, failed=fault is not None)

    def _look_later(self, name: str, *, failed: bool) -> None:
        pause_s = LOOK_AGAIN_S
        if failed:
            count = self._failures[name] = self._failures.get(name, 0) + 1
            pause_s = min(pause_s, FIRST_RETRY_S * 2 ** min(count, 10))
        known = self._later.pop(name, None)
        if known is not None:
            known.cancel()
        self._later[name] = asyncio.get_running_loop().call_later(pause_s, self._look_again, name)

    def _look_again(self, name: str) -> None:
        self._later.pop(name, None)
        self._work.add(name)

    async def _examined(self, remote: Remote) -> Fault | None:
        """What is wrong with a server; if nothing is, what it serves is known afterwards."""
        service, slices = self._seen(remote)
        fault = find_fault(remote, service, slices)
        if fault is not None:
            return fault
        assert service is not None, "that it is missing is a fault"
        try:
            addresses = addresses_of(remote, service, slices)
            if not addresses:
                why = f'no endpoints available for service "{remote.service}"'
                return Fault("FailedDiscoveryCheck", why)
            way = await self._ways.to(remote, addresses)
            found = await _find(remote, way.probing, way.on[1])
        except (Unreachable, UsageError) as error:
            return Fault("FailedDiscoveryCheck", str(error))
        if isinstance(found, Fault):
            return found
        place = (remote.group, remote.version)
        self._found(place, found)
        return None

    def _found(self, place: Place, found: Findings) -> None:
        if place in self.remotes and self.behind.findings.get(place) != found:
            self.behind = Behind(self.remotes, {**self.behind.findings, place: found})

    def _seen(self, remote: Remote) -> tuple[Wire | None, list[Wire]]:
        """The Service of a server and that one's slices, as they are now."""
        store = self._api.store
        record = store.get(SERVICES, f"{remote.namespace}/{remote.service}")
        slices = [
            orjson.loads(each.value)
            for each in store.page(SLICES, f"{remote.namespace}/").records
            if (metadata_of(each).labels or {}).get(SERVICE_NAME) == remote.service
        ]
        return (None if record is None else orjson.loads(record.value)), slices

    def _mark_stale(self, remote: Remote) -> None:
        place = (remote.group, remote.version)
        known = self.behind.findings.get(place, Findings())
        self._found(place, Findings(known.resources, known.openapi, stale=True))

    async def _tell(self, remote: Remote, reason: str, message: str, *, holds: bool) -> None:
        now = self._api.timestamp()
        fresh = condition("Available", reason, message, holds=holds)

        def told(obj: Wire) -> Wire:
            if remote_of(obj) != remote:
                return obj  # another has taken its place while this one was looked at
            return {**obj, "status": with_condition(obj.get("status") or {}, fresh, now)}

        await revise(self._api, call_on(self._api, COLLECTION, "", remote.name).on("status"), told)

    async def way(self, remote: Remote) -> Way | None:
        """How to ask a server; None if there is no way to it now."""
        service, slices = self._seen(remote)
        addresses = [] if service is None else addresses_of(remote, service, slices)
        return await self._ways.to(remote, addresses) if addresses else None


async def _find(remote: Remote, transport: Transport, address: Address) -> Findings | Fault:
    """What a server serves; Fault if it does not even say that."""
    where = f"https://{address[0]}:{address[1]}{remote.root}"
    try:
        plain = await _ask(transport, remote.root)
    except Unreachable as error:
        return Fault("FailedDiscoveryCheck", f"failing or missing response from {where}: {error}")
    if not 200 <= plain.status < 300:
        why = f"bad status from {where}: {plain.status}"
        return Fault("FailedDiscoveryCheck", f"failing or missing response from {where}: {why}")
    resources = discovered((await _ask(transport, "/apis", AGGREGATED)).body, remote)
    openapi = openapi_place((await _ask(transport, "/openapi/v3")).body, remote)
    return Findings(listed(plain.body) if resources is None else resources, openapi)


async def _ask(transport: Transport, path: str, accept: str = "application/json") -> Response:
    headers = {**headers_of(AGGREGATOR), "accept": accept, "user-agent": "kube-aggregator"}
    return await whole(await transport.send(Request("GET", path, headers=headers)))
