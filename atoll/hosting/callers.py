"""Who asks our own API: whoever the host says, and the host is known by its certificate.

In: the host's ConfigMap of whom such servers are to believe, kept fresh, and requests. Out: the
caller. The host has authenticated and authorized them before it hands a request on; nobody else is
let in. The certificate itself was verified in the TLS handshake, by the authority named there.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from atoll.apiserver.authentication import (
    FRONT_PROXY,
    REMOTE_EXTRA,
    REMOTE_GROUP,
    REMOTE_UID,
    REMOTE_USER,
    Identity,
    Tokens,
    authenticate,
)
from atoll.apiserver.status import unauthorized
from atoll.client.api import ApiClient, Refused
from atoll.client.transport import Unreachable
from atoll.exchange import Headers, Peer, Request

log = logging.getLogger("atoll.hosting")

TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_NO_TOKENS = Tokens({})
_LOOK_AGAIN_S = 60.0
_LOOK_SOON_S = 2.0


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a host names as its front proxy, and in which headers that tells for whom it asks."""

    authority: str  # PEM
    names: tuple[str, ...] = ()  # none: any that the authority has signed
    users: tuple[str, ...] = (REMOTE_USER,)
    uids: tuple[str, ...] = (REMOTE_UID,)
    groups: tuple[str, ...] = (REMOTE_GROUP,)
    extras: tuple[str, ...] = (REMOTE_EXTRA,)

    def identity(self, request: Request) -> Identity:
        """For whom a request is made; ApiError 401 if its sender may not say so, or does not."""
        peer = request.peer
        if peer is None or (self.names and peer.name not in self.names):
            raise unauthorized()
        known = replace(
            request, peer=Peer(FRONT_PROXY, (), is_front_proxy=True), headers=self._read(request)
        )
        return authenticate(known, _NO_TOKENS)

    def _read(self, request: Request) -> Headers:
        """The headers that tell who asks, under the usual names; of several, the first counts."""
        found: dict[str, str] = {}
        given = request.headers
        for usual, names in (
            (REMOTE_USER, self.users),
            (REMOTE_UID, self.uids),
            (REMOTE_GROUP, self.groups),
        ):
            told = [given[name] for name in names if given.get(name)]
            if told:
                found[usual] = told[0]
        for name, value in given.items():
            for prefix in self.extras:
                if name.startswith(prefix):
                    found[REMOTE_EXTRA + name.removeprefix(prefix)] = value
        return found


def trust_of(config: Mapping[str, Any]) -> Trust | None:
    """What the ConfigMap says; None while the host has no front proxy."""
    data = config.get("data") or {}
    authority = data.get("requestheader-client-ca-file")
    if not authority:
        return None
    usual = Trust(authority)
    return Trust(
        authority,
        _listed(data, "requestheader-allowed-names"),
        _lowered(data, "requestheader-username-headers") or usual.users,
        _lowered(data, "requestheader-uid-headers") or usual.uids,
        _lowered(data, "requestheader-group-headers") or usual.groups,
        _lowered(data, "requestheader-extra-headers-prefix") or usual.extras,
    )


def _listed(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    try:
        found = orjson.loads(data.get(key) or "[]")
    except ValueError:
        return ()
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def _lowered(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(each.lower() for each in _listed(data, key))


class Callers:
    """Whom the host names now; those it no longer names are believed until the next start."""

    def __init__(self, api: ApiClient, tls: ssl.SSLContext) -> None:
        self._api = api
        self._tls = tls
        self._trust: Trust | None = None

    def identity(self, request: Request) -> Identity:
        """For whom a request is made; ApiError 401 if nobody vouches for it."""
        if self._trust is None:
            raise unauthorized()
        return self._trust.identity(request)

    async def look(self) -> None:
        """Learn whom the host names; Refused or Unreachable if it does not say."""
        found = trust_of(await self._api.find(TRUST) or {})
        if found is None:
            said = {"configmap": TRUST}
            log.warning(
                "The host names no front proxy (%(configmap)s), so nobody is let in yet", said
            )
        elif self._trust is None or found.authority != self._trust.authority:
            self._tls.load_verify_locations(cadata=found.authority)
        self._trust = found

    async def keep_fresh(self) -> None:
        """Look again now and then, for ever."""
        while True:
            await asyncio.sleep(_LOOK_AGAIN_S if self._trust else _LOOK_SOON_S)
            try:
                await self.look()
            except (Refused, Unreachable) as problem:
                log.info("Whom to believe is not known anew: %(err)s", {"err": problem})
