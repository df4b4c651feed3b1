"""An API server put together from its parts, over a store that is open.

The plane, every simulated member, the tests and the simulation are built by this one function. It
starts no task itself: `services` are for a supervisor to run, next to the store's own `run`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from atoll.apiserver.access.accounts import AccountTokens
from atoll.apiserver.access.bootstrap_tokens import BootstrapTokens
from atoll.apiserver.access.escalation import Escalation
from atoll.apiserver.access.reviews import REVIEWED, Answer, Reviews
from atoll.apiserver.access.roles import RIGHTS, Roles
from atoll.apiserver.access.signers import Signers
from atoll.apiserver.access.signing import Signing
from atoll.apiserver.admission import Hooks, Kinds, Mutating, Nobody, Only, Validating
from atoll.apiserver.admitting.quotas import Quotas
from atoll.apiserver.admitting.rules import Rules
from atoll.apiserver.aggregation.aggregator import Aggregator
from atoll.apiserver.aggregation.emptying import Emptying
from atoll.apiserver.aggregation.proxying import Proxy
from atoll.apiserver.aggregation.registering import Registrar
from atoll.apiserver.aggregation.trust import Trust
from atoll.apiserver.audit.policy import Policy
from atoll.apiserver.audit.recording import Audit
from atoll.apiserver.authentication import Several, Tokens
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.catalog import Catalog
from atoll.apiserver.discovery import Discovery
from atoll.apiserver.documents import Documents
from atoll.apiserver.health import Check
from atoll.apiserver.housekeeping import bootstrap_tokens
from atoll.apiserver.housekeeping.accounts import Accounts
from atoll.apiserver.housekeeping.aggregation import Aggregation
from atoll.apiserver.housekeeping.bootstrap import OwnService, bootstrap
from atoll.apiserver.housekeeping.certificates import COLLECTION as REQUESTS
from atoll.apiserver.housekeeping.certificates import Certificates
from atoll.apiserver.housekeeping.definitions import COLLECTION as DEFINITIONS
from atoll.apiserver.housekeeping.definitions import Definitions
from atoll.apiserver.housekeeping.expiry import Expiry, Finished
from atoll.apiserver.housekeeping.garbage import Collector
from atoll.apiserver.housekeeping.namespaces import Lifecycle, Sweeper
from atoll.apiserver.housekeeping.quotas import QuotaStatus
from atoll.apiserver.housekeeping.root_ca import RootCa
from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.kubelets import Unreached
from atoll.apiserver.metrics import Metrics
from atoll.apiserver.openapi import OpenApi
from atoll.apiserver.policies.following import AdmissionPolicies
from atoll.apiserver.resource import Branch, Resource
from atoll.apiserver.schemas.facts import Facts, load
from atoll.apiserver.server import ApiServer
from atoll.apiserver.telling import health_of, numbers_of
from atoll.apiserver.turns import Turns
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.webhooks.asking import Webhooks
from atoll.apiserver.webhooks.calling import Calling
from atoll.apiserver.webhooks.conversions import Conversions
from atoll.client.posting import Posting
from atoll.config import RequestLimits
from atoll.effects import Effects
from atoll.exchange import Handler
from atoll.instruments.families import More
from atoll.store.record import Event
from atoll.store.store import Store

Service = Callable[[], Awaitable[None]]
Branches = Mapping[tuple[str, str], tuple[Branch, ...]]


class Follower(Protocol):
    """Takes in what the store has, and then every change."""

    def load(self) -> None: ...

    def follow(self, events: Sequence[Event]) -> None: ...


class Keeper(Follower, Protocol):
    """A follower that acts on what it sees for as long as it runs."""

    async def run(self) -> None: ...


@dataclass(slots=True)
class Assembly:
    """A server and what must run for it. It is ready once `start` has returned."""

    server: ApiServer
    api: Api
    services: dict[str, Service]
    _load: tuple[Callable[[], None], ...]
    _kinds: Kinds
    _registrar: Registrar
    _roles: Roles
    _ready: asyncio.Event

    @property
    def handle(self) -> Handler:
        return self.server.handle

    def audit(self, policy: Policy, sink: Callable[[bytes], None], numbers: More) -> None:
        """Record from now on who asks for what, and tell how much was recorded."""
        server = self.server
        server.audit = Audit(policy, self._roles.decide, self.api.now, sink)
        self.count(numbers)

    def count(self, numbers: More) -> None:
        """Have these among the server's numbers from now on."""
        metrics = self.server.metrics
        metrics.more = (*metrics.more, numbers)

    def check(self, name: str, check: Check) -> None:
        """Have this a part of the server's health from now on."""
        self.server.documents.health.checks[name] = check

    def limit(self, requests: RequestLimits) -> None:
        """Serve only so much at once."""
        self.server.turns = Turns(requests)
        self.api.watches.per_user_max = requests.max_watches_per_user

    async def start(self) -> None:
        """Take in what the store has, make what every cluster has. The store must be running."""
        for load_one in self._load:
            load_one()
        # Nobody outside can keep the server from starting.
        hooks, self.api.hooks = self.api.hooks, replace(self.api.hooks, outside=Nobody())
        await bootstrap(self.api, self._kinds)
        await self._registrar.start()
        self.api.hooks = hooks
        self._ready.set()


def assemble(
    store: Store,
    effects: Effects,
    tokens: Tokens | None = None,
    kinds: Kinds | None = None,
    *,
    authorize: Authorize | None = None,
    signing: Signing | None = None,
    runs_pods: bool = False,
) -> Assembly:
    """Build an API server over a store, with kinds of the plane's own where it is one.

    Roles decide who may do what, unless `authorize` does. `signing` is what others know the server
    by; in one that nobody reaches from outside it is left to chance. Where pods run, they run as
    service accounts.
    """
    facts = load()
    own = kinds or Kinds()
    signing = signing or Signing.by_chance(effects.chance)
    roles = Roles(store)
    authorize = authorize or roles.authorize
    accounts = AccountTokens(store, signing, effects.now)
    bearers = Several((tokens or Tokens({}), accounts, BootstrapTokens(store, effects.now)))
    answers = Reviews(roles, bearers, accounts).answers()
    resources = [*builtin_resources(facts), *own.resources]
    branches = _with_own(Unreached(store).branches(), own.branches)
    served = [_answered(_branched(each, branches), answers) for each in resources]
    api = Api(store, Catalog(served, facts), effects, signing)
    definitions = Definitions(api)
    quotas = Quotas(store, effects.now)
    keepers = _keepers(api, definitions, roles) | {"quotas": QuotaStatus(api, quotas)}
    registrar, aggregator = Registrar(api, facts), Aggregator(api)
    keepers |= _aggregating(api, registrar, aggregator)
    signers = Signers(authorize, effects.now)
    rules = Rules(store, effects.chance, runs_pods=runs_pods)
    api.hooks = Hooks(
        mutating=(*_changes(definitions, signers, rules), *own.hooks.mutating),
        validating=(*_checks(store, definitions, roles, signers, rules), *own.hooks.validating),
        last=(quotas.check,),
        outside=_outside(api, keepers, authorize),
    )
    followers: tuple[Follower, ...] = (*keepers.values(), roles, rules.settings, rules.addresses)
    for each in followers:
        store.listen(each.follow)
    ready = asyncio.Event()
    documents = _documents(api, facts, aggregator, ready)
    return Assembly(
        server=ApiServer(api, documents, bearers, authorize, Proxy(aggregator), documents.metrics),
        api=api,
        services={name: keeper.run for name, keeper in keepers.items()} | dict(own.services),
        _load=tuple(follower.load for follower in followers),
        _kinds=own,
        _registrar=registrar,
        _roles=roles,
        _ready=ready,
    )


def _outside(api: Api, keepers: dict[str, Keeper], authorize: Authorize) -> AdmissionPolicies:
    """Who is asked beside the server's own rules: policies, and webhooks after them."""
    calling = Calling(api.store, api.effects.chance, Posting())
    api.convert = Conversions(calling, api.effects.chance).convert
    webhooks = keepers["webhooks"] = Webhooks(api, calling, authorize)
    policies = keepers["admission policies"] = AdmissionPolicies(api, authorize, webhooks)
    return policies


def _changes(definitions: Definitions, signers: Signers, rules: Rules) -> tuple[Mutating, ...]:
    """Those who may change what is written."""
    return (
        Only(definitions.mutate, (DEFINITIONS,)),
        Only(signers.mutate, (REQUESTS,)),
        Only(rules.mutate, rules.changed),
    )


def _checks(
    store: Store, definitions: Definitions, roles: Roles, signers: Signers, rules: Rules
) -> tuple[Validating, ...]:
    """Those who may refuse what is written."""
    return (
        Lifecycle(store),
        definitions.refuse_in_ending,
        Only(Escalation(roles), RIGHTS),
        Only(signers.check, (REQUESTS,)),
        Only(rules.check, rules.checked),
    )


def _aggregating(api: Api, registrar: Registrar, aggregator: Aggregator) -> dict[str, Keeper]:
    """Who keeps up what other servers serve behind this one."""
    return {
        "services of what is served here": registrar,
        "servers behind this one": aggregator,
        "namespaces behind this server": Emptying(aggregator),
        "whom servers behind this one believe": Trust(api),
    }


def _keepers(api: Api, definitions: Definitions, roles: Roles) -> dict[str, Keeper]:
    """Who keeps the house, by what they do."""
    return {
        # They come first: whoever follows must find the resources that an event is about.
        "custom resource definitions": definitions,
        "garbage collection": Collector(api),
        "namespaces": Sweeper(api),
        "expiry of events": Expiry(api),
        "service accounts": Accounts(api),
        "roles that collect others": Aggregation(api),
        "requests for certificates": Certificates(api, roles),
        "bootstrap tokens": bootstrap_tokens.Tokens(api),
        "root CA": RootCa(api),
        "own service": OwnService(api),
        "finished jobs": Finished(api),
    }


def _documents(api: Api, facts: Facts, aggregator: Aggregator, ready: asyncio.Event) -> Documents:
    """What the server tells about itself, and about those behind it."""
    return Documents(
        Discovery(api.catalog, behind=lambda: aggregator.behind),
        OpenApi(api.catalog, facts),
        health_of(api.store, ready.is_set),
        Metrics((partial(numbers_of, api, aggregator),)),
        api.signing,
    )


def _answered(resource: Resource, answers: Mapping[str, Answer]) -> Resource:
    answer = answers.get(resource.kind) if resource.group in REVIEWED else None
    return replace(resource, answer=answer) if answer else resource


def _with_own(usual: Branches, own: Branches) -> Branches:
    """All branches; where a server has one of its own, that one instead of the usual."""
    merged = dict(usual)
    for place, branches in own.items():
        names = {branch.name for branch in branches}
        kept = (branch for branch in usual.get(place, ()) if branch.name not in names)
        merged[place] = (*kept, *branches)
    return merged


def _branched(resource: Resource, branches: Branches) -> Resource:
    found = branches.get((resource.group, resource.plural))
    return replace(resource, branches=found) if found else resource
