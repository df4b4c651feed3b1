"""Certificates on request: approved where that is settled, signed once approved, swept up later.

`plan` sees one request and says what is to be done about it, purely. Requests of agents and of
kubelets for themselves are approved without anybody's help, if roles allow their senders that.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import orjson

from atoll.apiserver.access.roles import Roles
from atoll.apiserver.access.signers import CLIENT, KUBELET
from atoll.apiserver.authentication import Identity, identity_in
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, delete_one, revise
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.kinds.certificates import (
    APPROVED,
    DENIED,
    FAILED,
    GROUP,
    has_condition,
    request_of,
)
from atoll.apiserver.objects.conditions import condition
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event
from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.apiserver.kinds.certificate_requests import CertificateRequest

May = Callable[[Identity, Attributes], bool]

COLLECTION = f"certificatesigningrequests.{GROUP}"
LONGEST = timedelta(days=365)
PENDING_KEPT, DECIDED_KEPT = timedelta(hours=24), timedelta(hours=1)

_USAGES = {"digital signature", "key encipherment", "client auth"}


@dataclass(frozen=True, slots=True)
class Known:
    """A request that needs nobody's approval, if its sender is allowed to make such ones."""

    signer: str
    group: str
    prefix: str  # of the name
    right: str  # what must be allowed: to create this part of signing requests
    own: bool  # whether the sender is the one it asks for
    message: str


_AGENT = (CLIENT, "system:karmada:agents", "system:karmada:agent:")
_NODE = (KUBELET, "system:nodes", "system:node:")
KNOWN = (
    Known(*_AGENT, "selfclusteragent", True, "An agent renews its own certificate."),
    Known(*_AGENT, "clusteragent", False, "An agent registers with a token made for that."),
    Known(*_NODE, "selfnodeclient", True, "A node renews its own certificate."),
    Known(*_NODE, "nodeclient", False, "A node registers with a token made for that."),
)


@dataclass(frozen=True, slots=True)
class Approve:
    """Approve it, and say why."""

    message: str


@dataclass(frozen=True, slots=True)
class Sign:
    """Issue the certificate, for so long."""

    request: "CertificateRequest"
    valid: timedelta


@dataclass(frozen=True, slots=True)
class Refuse:
    """Say that it cannot be signed."""

    why: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """It has been there long enough."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is to be done for so long."""

    seconds: float


Plan = Approve | Sign | Refuse | Sweep | Wait


def plan(csr: Wire, may: May, now: datetime) -> Plan:
    """What is to be done about a request."""
    request = request_of(csr)
    decided = has_condition(csr, DENIED) or has_condition(csr, FAILED)
    issued = bool((csr.get("status") or {}).get("certificate"))
    if request is not None and not decided and not issued:
        if not has_condition(csr, APPROVED):
            known = _known(csr, request, may)
            if known is not None:
                return Approve(known.message)
        elif csr["spec"]["signerName"] in (CLIENT, KUBELET):
            why = _why_not(csr, request)
            return Refuse(why) if why else Sign(request, _duration(csr["spec"]))
    return _kept(csr, now)


def _known(csr: Wire, request: "CertificateRequest", may: May) -> Known | None:
    spec = csr["spec"]
    sender = identity_in(spec, spec.get("username", ""))
    for known in KNOWN:
        wanted = Attributes("create", GROUP, "certificatesigningrequests", subresource=known.right)
        if _fits(known, spec, request) and may(sender, wanted):
            return known
    return None


def _fits(known: Known, spec: Wire, request: "CertificateRequest") -> bool:
    name = request.name
    usages = set(spec.get("usages") or ())
    return (
        spec["signerName"] == known.signer
        and request.organizations == (known.group,)
        and name.startswith(known.prefix)
        and (spec.get("username") == name or not known.own)
        and usages | {"key encipherment"} == _USAGES
        and not request.has_other_names
    )


def _why_not(csr: Wire, request: "CertificateRequest") -> str:
    """Why this may not be signed, although it is approved; empty if it may."""
    usages = set(csr["spec"].get("usages") or ())
    if "client auth" not in usages or not usages <= _USAGES:
        return "usages must be client auth, with digital signature and key encipherment at most"
    if csr["spec"]["signerName"] == KUBELET:
        is_node = request.organizations == ("system:nodes",)
        if not is_node or not request.name.startswith("system:node:"):
            return "the subject must be a node: system:node:NAME in the organization system:nodes"
    return ""


def _duration(spec: Wire) -> timedelta:
    seconds = spec.get("expirationSeconds")
    return min(LONGEST, timedelta(seconds=seconds)) if isinstance(seconds, int) else LONGEST


def _kept(csr: Wire, now: datetime) -> Plan:
    """Requests are swept up a day after they were made, and an hour after they were decided."""
    status = csr.get("status") or {}
    conditions = status.get("conditions") or []
    since, kept = metadata(csr).get("creationTimestamp", ""), PENDING_KEPT
    if conditions:
        since, kept = conditions[0].get("lastUpdateTime", since), DECIDED_KEPT
    left = (parse_rfc3339(since) or now) + kept - now
    return Wait(left.total_seconds()) if left > timedelta(0) else Sweep()


class Certificates(Upkeep):
    """Follows requests for certificates, and does what is to be done about each."""

    def __init__(self, api: Api, roles: Roles) -> None:
        super().__init__(api, "requests for certificates")
        self._roles = roles

    def load(self) -> None:
        for record in self._api.store.page(COLLECTION).records:
            self._work.add(record.name)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == COLLECTION and not event.removed:
                self._work.add(event.after.name)

    async def _look(self, name: str) -> None:
        record = self._api.store.get(COLLECTION, name)
        if record is None:
            return
        now = self._api.now()
        match plan(orjson.loads(record.value), self._may, now):
            case Approve(message):
                told = condition(APPROVED, "AutoApproved", message, holds=True)
                await self._tell(name, "approval", {}, told)
            case Sign(request, valid) if self._api.signing.ca_key:
                from atoll.apiserver.certificates import sign_request  # large, and seldom needed

                certificate = sign_request(self._api.signing, request.pem, now, valid)
                encoded = b64encode(certificate).decode()
                await self._tell(name, "status", {"certificate": encoded}, None)
            case Refuse(why):
                told = condition(FAILED, "SignerValidationFailure", why, holds=True)
                await self._tell(name, "status", {}, told)
            case Sweep():
                await delete_one(self._api, node_of(record), "Background")
            case Wait(seconds):
                self._work.add_later(name, seconds)

    def _may(self, identity: Identity, wanted: Attributes) -> bool:
        return self._roles.decide(identity, wanted).allowed

    async def _tell(self, name: str, part: str, more: Wire, fresh: Wire | None) -> None:
        def told(csr: Wire) -> Wire:
            status = {**(csr.get("status") or {}), **more}
            if fresh is not None:
                status["conditions"] = [*(status.get("conditions") or []), fresh]
            return {**csr, "status": status}

        await revise(self._api, call_on(self._api, COLLECTION, "", name).on(part), told)
