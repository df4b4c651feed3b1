"""The plane and its members, as all controllers share them: sites, the fleet, who hears of what.

Changes of mirrored objects are handed to whoever the table in `wakes` names for their kind. What is
done about a change is the controllers' business.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from atoll.client.api import Collection
from atoll.client.informer import Informer
from atoll.client.mirror import tell_each
from atoll.client.transport import Transport
from atoll.config import USUAL_TIMES, Times
from atoll.control.capacity import NodeCapacity
from atoll.control.directory import Scope, all_of
from atoll.control.insisting import insist
from atoll.control.numbers import Numbers
from atoll.control.performing import Performer
from atoll.control.site import Site
from atoll.control.traces import Traces
from atoll.control.wakes import (
    CLUSTER_NODES,
    MEMBER_ANSWERS,
    MEMBER_REACHED,
    MEMBERS_OBJECTS,
    POLICIES,
    TEMPLATES,
    Wakes,
    What,
)
from atoll.dialects import prices
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.kind import Kind
from atoll.dialects.policy_source import PolicySource, Sources
from atoll.effects import Effects
from atoll.instruments.families import More
from atoll.interpreting.builtin import BUILT_IN
from atoll.interpreting.operations import Interpreters
from atoll.members.connection import USUAL_LIMITS, Connection, Limits
from atoll.members.following import Observation
from atoll.members.ways import Reach, over_network
from atoll.model.action import PLANE, Ref
from atoll.model.cluster import Cluster
from atoll.model.member import Member
from atoll.model.override_index import OverrideIndex
from atoll.model.policy import Policy
from atoll.model.policy_index import PolicyIndex
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.runtime.causes import caused_by
from atoll.runtime.children import Children, report_failure
from atoll.runtime.turns import Turns
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import USUAL_SETTING, Setting
from atoll.tracing.tracer import Tracer
from atoll.wire import Object, Wire

BINDING = "work.karmada.io/v1alpha2"
WORK = "work.karmada.io/v1alpha1"
CLUSTER = "cluster.karmada.io/v1alpha1"
OWN_KINDS = (*(each.key for each in (*kinds.PROPAGATION_POLICIES, *kinds.ALL)), CLUSTER_NODES)
"""The plane's own, which are always served; those of other sources may come at any time."""
_OF_ONE = frozenset(each.key for each in (*kinds.BINDINGS, kinds.WORK))
"""Own kinds that are about one template: what is done about them is done for whoever has that."""
_NOT_MEANT = frozenset({"metadata", "status"})
_COUNTED = frozenset({"resourceVersion", "managedFields", "generation"})
_PAUSE_S = 1.0
_ALWAYS_WANTED = (("v1", "Namespace"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
_OWN_GROUPS = ("karmada.io", prices.GROUP)
_NO_TEMPLATES = {"Event", "Lease"}

T = TypeVar("T")
Hear = Callable[[Wire | None, Wire | None], None]
HearValue = Callable[[T | None, T | None], None]
HearMember = Callable[[str, Wire | None, Wire | None], None]
Companion = Callable[[Site], Awaitable[None]]


class Around(Protocol):
    """What the scheduler knows of the moment, for all who ask it about a binding."""

    def of(self, binding: ResourceBinding) -> Surroundings:
        """The surroundings in which it is decided now."""
        ...

    def anew(self, binding: ResourceBinding) -> Surroundings:
        """Those in which it would be if it had been given nothing yet."""
        ...

    async def moves(self, words: Mapping[str, str]) -> Mapping[str, object]:
        """What is worth placing anew, by a question's words."""
        ...


@dataclass(frozen=True, slots=True)
class Follows:
    """What is followed of the plane from the beginning: its own kinds, and kinds of templates.

    `scope` makes a collection smaller for those who may not, or need not, see all of it.
    """

    kinds: tuple[tuple[str, str], ...] = OWN_KINDS
    templates: tuple[tuple[str, str], ...] = _ALWAYS_WANTED
    scope: Scope = all_of


FOLLOWS_ALL = Follows()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A member that there is a way to, and the task that keeps up what is known of it."""

    site: Site
    connection: Connection
    keeping: asyncio.Task[None]


class _ByName(Mapping[str, Cluster]):
    """The clusters of a fleet by name, without another table of them for each fleet there is."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def __getitem__(self, name: str) -> Cluster:
        return self._fleet.clusters[self._fleet.rows[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fleet.rows)

    def __len__(self) -> int:
        return len(self._fleet)


class Hub:
    """What the controllers of one plane have in common."""

    around: Around
    """What the scheduler knows of the moment; only where it runs."""

    def __init__(
        self,
        plane: Transport,
        effects: Effects,
        children: Children,
        *,
        interpreters: Interpreters = BUILT_IN,
        setting: Setting = USUAL_SETTING,
        reach: Reach = over_network,
        times: Times = USUAL_TIMES,
        limits: Limits = USUAL_LIMITS,
        follows: Follows = FOLLOWS_ALL,
        sources: Iterable[PolicySource] = (),
        tracer: Tracer | None = None,
    ) -> None:
        self.effects = effects
        self.reach = reach
        self.times = times
        self._limits = limits
        self.setting = setting
        self.features = setting.features
        self.children = children
        self.interpreters = interpreters
        self._follows = follows
        self.sources = Sources(sources)
        self.claims = self.sources.claims
        values = (*kinds.ALL, *self.sources.kinds)
        self.plane = Site(PLANE, plane, children, follows.scope, values)
        self.sites: dict[str, Site] = {PLANE: self.plane}
        """The plane, and every member that has said what it serves."""
        self.turns = Turns()
        self.numbers = Numbers()
        self.more_numbers: list[More] = []
        """What others know of how things stand."""
        self.traces = None if tracer is None else Traces(tracer, self.plane, self.claims)
        if tracer is not None:
            self.more_numbers.append(tracer.numbers)
        chance = effects.chance
        self.performer = Performer(self.sites, effects.now, chance, self.turns, self.numbers)
        self.fleet = Fleet.of([])
        self.observations: dict[str, Observation] = {}
        """Nodes and pods of the members that are watched, by name."""
        self.nodes = NodeCapacity(self.observations)
        self._own_kinds = self.sources.own_kinds.union(OWN_KINDS)
        of_sources = (*sorted(self.sources.own_kinds), *self.sources.awaited)
        self._wanted: dict[tuple[str, str], None] = dict.fromkeys(of_sources)
        self._wakes = Wakes()
        self.hear("hub", CLUSTER_NODES, self._published)
        self.overrides = OverrideIndex()
        """The override policies there are."""
        self.policies = PolicyIndex()
        """The policies there are, of all sources."""
        self._companions: dict[str, Companion] = {}
        self._kept: dict[str, _Kept] = {}
        for kind in kinds.OVERRIDE_POLICIES:
            self.hear_values("hub", kind, self.overrides.changed)
        for each in self.sources.kinds:
            self.hear_values("hub", each, self._policy_changed, POLICIES)
        self.hear_bindings("hub", self._binding_changed)

    @property
    def now(self) -> float:
        return self.effects.now().timestamp()

    def new_id(self) -> str:
        return self.effects.chance.uuid("controllers")

    @property
    def clusters(self) -> Mapping[str, Cluster]:
        """The clusters of the fleet by name."""
        return _ByName(self.fleet)

    @property
    def works(self) -> Informer[Work]:
        return self.plane.informer(kinds.WORK)

    def works_of(self, binding: Ref) -> list[Work]:
        """The Works that a binding of either kind has."""
        return self.works.by(_bindings_of, binding)

    @property
    def members(self) -> Informer[Member]:
        return self.plane.informer(kinds.CLUSTER)

    def member(self, name: str) -> Member | None:
        """A cluster as it is registered."""
        return self.plane.value(kinds.CLUSTER, "", name)

    def binding(self, ref: Ref) -> ResourceBinding | None:
        """A binding of either kind."""
        kind = kinds.RESOURCE_BINDING if ref.namespace else kinds.CLUSTER_RESOURCE_BINDING
        return self.plane.value(kind, ref.namespace, ref.name)

    def is_of_policy(self, binding: ResourceBinding) -> bool:
        """Whether a binding is a policy's own, and not that of an object of the plane."""
        owners = {each.kind for each in binding.meta.owners if each.controller}
        return any(each.kind in owners for each in self.sources.kinds)

    def template(self, binding: ResourceBinding) -> Object | None:
        """What a binding sends: an object of the plane, or the one that its policy carries.

        Nothing if its policy only decides, or is gone by now.
        """
        if not self.is_of_policy(binding):
            return self.plane.find(binding.spec.template)
        uids = [each.uid for each in binding.meta.owners]
        owning = self.policies.owning(binding.spec.template)
        return next((each.carries for each in owning if each.meta.uid in uids), None)

    def bindings(
        self, sorter: Callable[[ResourceBinding], Iterable[Hashable]], filed: Hashable
    ) -> list[ResourceBinding]:
        """The bindings of either kind that a sorter files under this."""
        known = (self.plane.informer(kind) for kind in kinds.BINDINGS)
        return [each for informer in known for each in informer.by(sorter, filed)]

    def cluster(self, name: str) -> Cluster | None:
        row = self.fleet.rows.get(name)
        return None if row is None else self.fleet.clusters[row]

    def hear(self, controller: str, what: What, hearer: Hear, row: What | None = None) -> None:
        """Have a controller told of every change of a kind, or of templates, as the table says."""
        self._wakes.add(controller, what, hearer, row)

    def hear_values(
        self, controller: str, kind: Kind[T], hearer: HearValue[T], row: What | None = None
    ) -> None:
        """The same of a kind that is read as values."""

        def told(before: Wire | None, after: Wire | None) -> None:
            value = self.plane.informer(kind).value
            hearer(
                None if before is None else value(before), None if after is None else value(after)
            )

        self.hear(controller, kind.key, told, row)

    def hear_bindings(self, controller: str, hearer: HearValue[ResourceBinding]) -> None:
        """The same of bindings of either kind."""
        for kind in kinds.BINDINGS:
            self.hear_values(controller, kind, hearer)

    def hear_members(self, controller: str, hearer: HearMember) -> None:
        """Have it told of every change of what is mirrored in a member, and of its name."""
        self._wakes.add(controller, MEMBERS_OBJECTS, hearer)

    def hear_connected(self, controller: str, hearer: Callable[[str], None]) -> None:
        """Have it told the name of a member that is reached, let go of, or serves other kinds."""
        self._wakes.add(controller, MEMBER_REACHED, hearer)

    def hear_answering(self, controller: str, hearer: Callable[[str], None]) -> None:
        """Have it told the name of a member that was silent, and answers again."""
        self._wakes.add(controller, MEMBER_ANSWERS, hearer)

    def accompany(self, what: str, companion: Companion) -> None:
        """Have something run next to every member that there is a way to, for as long as there is.

        It begins before the member has answered for the first time. One that fails begins again.
        """
        self._companions[what] = companion

    async def start(self) -> None:
        """Know the plane as it is, however long that takes; from then on changes are handed on."""
        await insist("the kinds of the plane", self._read_own_kinds)
        self.plane.listen(self._told)
        for api_version, kind in (*self._follows.templates, *self._wanted):
            self.want(api_version, kind)
        for api_version, kind in self._follows.kinds:
            await self.plane.follow(api_version, kind)
        await self.plane.all_ready()
        self.children.spawn(self._reread(self.plane), "kinds of the plane")

    def want(self, api_version: str, kind: str) -> None:
        """Follow a kind of templates from now on, as soon as there is such a kind.

        Only what somebody wants is followed: a plane may have very many objects that concern no
        policy.
        """
        self._wanted[api_version, kind] = None
        collection = self.plane.directory.find(api_version, kind)
        is_own = (api_version, kind) in self._own_kinds
        if collection is not None and (is_own or collection in self.template_collections()):
            self.plane.mirror(collection)

    def template_collections(self) -> list[Collection]:
        """The collections of all that users may want propagated."""
        return [
            each
            for each in self.plane.directory.deletable
            if not each.api_version.partition("/")[0].endswith(_OWN_GROUPS)
            and (each.api_version, each.kind) not in self._own_kinds
            and each.kind not in _NO_TEMPLATES
        ]

    def connect(self, name: str, transport: Transport) -> None:
        """Reach a member from now on, as soon as it says what it serves; nobody waits for that."""
        assert name not in self._kept, f"there is a way to {name} already"
        turned = partial(self._turned, name)
        way = Connection(name, transport, self.effects, limits=self._limits, turned=turned)
        site = Site(name, way, Children(name, cause="members"))
        self._kept[name] = _Kept(site, way, self.children.spawn(self._keep(site), str(site)))

    def disconnect(self, name: str) -> None:
        """Let go of a member, and end all that follows it."""
        if name in self._kept:
            kept = self._kept.pop(name)
            kept.keeping.cancel()
            # Also of one that was let go of before it began.
            self.children.spawn(kept.site.close(), f"the end of {kept.site}")
            self.numbers.forget(name)
        if self.sites.pop(name, None) is not None:
            self._reached(name)

    def ways(self) -> dict[str, Connection]:
        """The ways to members there are, by name."""
        return {name: each.connection for name, each in self._kept.items()}

    def is_silent(self, name: str) -> bool:
        """Whether a member that there is a way to does not answer."""
        return name in self._kept and self._kept[name].connection.is_silent

    def _turned(self, name: str) -> None:
        if not self.is_silent(name):
            with caused_by(str(Ref(CLUSTER, "Cluster", "", name))):
                for hearer in self._wakes.of(MEMBER_ANSWERS):
                    hearer(name)

    async def _keep(self, site: Site) -> None:
        """Know a member for as long as there is a way to it."""
        try:
            for what, companion in self._companions.items():
                site.children.spawn(_run(what, companion, site), what)
            await site.read_kinds()
            site.listen(partial(self._told_by_member, site))
            self.sites[site.name] = site
            self._reached(site.name)
            await self._reread(site)
        finally:
            # Nothing may begin there any more while what has begun ends.
            if self.sites.get(site.name) is site:
                del self.sites[site.name]
            await site.close()

    async def _read_own_kinds(self) -> None:
        await self.plane.read_kinds()
        for api_version, kind in self._follows.kinds:
            self.plane.collection(api_version, kind)

    async def _reread(self, site: Site) -> None:
        """Find kinds that were added since, whenever there may be some; for ever."""
        while True:
            await site.kinds_changed.wait()
            site.kinds_changed.clear()
            known = set(site.directory.served)
            await site.read_kinds()
            if site is self.plane:
                for api_version, kind in list(self._wanted):
                    self.want(api_version, kind)
            elif set(site.directory.served) != known:
                self._reached(site.name)

    def _reached(self, name: str) -> None:
        with caused_by(str(Ref(CLUSTER, "Cluster", "", name))):
            for hearer in self._wakes.of(MEMBER_REACHED):
                hearer(name)

    def tell_again(self, wire: Wire) -> None:
        """Have an object of the plane looked at, as if it were new."""
        self._told(None, wire)

    def _told(self, before: Wire | None, after: Wire | None) -> None:
        kind = Ref.of(after or before or {})[:2]
        self.plane.note_kinds(before, after)
        if after is None and before is not None:
            self.performer.forget(before)
        told = (kind,) if kind in self._own_kinds else (kind, TEMPLATES)
        with caused_by(self._cause(Ref.of(after or before or {}))):
            tell_each(self._wakes.of(*told), before, after)

    def _cause(self, changed: Ref) -> str:
        """What led to all that is done about a change: itself, if it may concern many."""
        is_shared = changed[:2] in self._own_kinds and changed[:2] not in _OF_ONE
        return str(changed) if is_shared else self.performer.cause_of(changed)

    def _policy_changed(self, before: Policy | None, after: Policy | None) -> None:
        self.policies.changed(before, after)
        for each in after.selectors if after is not None else ():
            self._want_new(each.api_version, each.kind)

    def _binding_changed(
        self, before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        if after is not None:
            self._want_new(*after.spec.template[:2])

    def _want_new(self, api_version: str, kind: str) -> None:
        if (api_version, kind) not in self._wanted:
            self.want(api_version, kind)

    def _published(self, before: Wire | None, after: Wire | None) -> None:
        name = str((after or before or {})["metadata"]["name"])
        self.nodes.published(name, after, self.now)

    def _told_by_member(self, site: Site, before: Wire | None, after: Wire | None) -> None:
        site.note_kinds(before, after)
        hearers = [partial(each, site.name) for each in self._wakes.of(MEMBERS_OBJECTS)]
        with caused_by(""):
            tell_each(hearers, before, after)


def _bindings_of(work: Work) -> Iterable[Ref]:
    return work.bindings


async def _run(what: str, companion: Companion, site: Site) -> None:
    while True:
        try:
            await companion(site)
            return
        except Exception as error:  # noqa: BLE001 - whatever it was, it must go on
            report_failure(f"{site}: {what}", error)
        await asyncio.sleep(_PAUSE_S)


def meant_otherwise(before: Object | None, after: Object | None) -> bool:
    """Whether a change is of more than a status and what the server counts."""
    if before is None or after is None:
        return before is not after
    return _differ(before, after, _NOT_MEANT) or _differ(
        before["metadata"], after["metadata"], _COUNTED
    )


class Held(Protocol):
    """A value that knows the object it was read from."""

    @property
    def wire(self) -> Object: ...


def spec_changed(before: Held | Object | None, after: Held | Object | None) -> bool:
    """The same of an object that may be read as a value."""
    return meant_otherwise(_wire(before), _wire(after))


def _wire(known: Held | Object | None) -> Object | None:
    return known if known is None or isinstance(known, Mapping) else known.wire


def _differ(one: Object, other: Object, apart_from: frozenset[str]) -> bool:
    """Whether two dictionaries differ in a key that counts; nothing is copied to find out."""
    if one.keys() - apart_from != other.keys() - apart_from:
        return True
    return any(one[key] != other[key] for key in one if key not in apart_from)
