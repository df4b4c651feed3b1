"""Ways to the servers behind this one: opened when first needed, closed when they lead elsewhere.

Each server has two: one for what is asked on behalf of callers, without a bound on what comes back,
and one to see how the server is, which is impatient and takes little. A server that hangs holds up
only those who ask it.
"""

from dataclasses import dataclass, field, replace

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.apiserver.aggregation.remote import Remote
from atoll.apiserver.objects.addresses import Address
from atoll.client.endpoint import Endpoint
from atoll.client.posting import Open, over_network
from atoll.client.transport import Transport

PROBE_S = 5.0
PROBE_BYTES_MAX = 8 * 1024 * 1024
CONNECTIONS_MAX = 4096


@dataclass(frozen=True, slots=True)
class Way:
    """Both ways to one server, and what they depend on."""

    on: tuple[Remote, Address]
    carrying: Transport
    probing: Transport


@dataclass(slots=True)
class Ways:
    """All that are open, by the name of the APIService."""

    front: FrontProxy | None
    open: Open = over_network
    _ways: dict[str, Way] = field(default_factory=dict)

    async def to(self, remote: Remote, addresses: list[Address]) -> Way:
        """The way to a server at one of these addresses: the one that is open, if it is of them."""
        known = self._ways.get(remote.name)
        same = replace(remote, available=False)
        if known is not None and known.on[0] == same and known.on[1] in addresses:
            return known
        on = (same, addresses[0])
        self._ways[remote.name] = opened = self._opened(on)
        if known is not None:
            await _close(known)
        return opened

    def _opened(self, on: tuple[Remote, Address]) -> Way:
        from atoll.client.https import Patience

        endpoint = _endpoint(*on, self.front)
        probing = Patience(PROBE_S, PROBE_S, PROBE_S, 4, PROBE_BYTES_MAX)
        carrying = Patience(connections_max=CONNECTIONS_MAX)
        return Way(on, self.open(endpoint, carrying), self.open(endpoint, probing))

    async def drop(self, name: str) -> None:
        """Close the way of a server that is none of ours any more."""
        known = self._ways.pop(name, None)
        if known is not None:
            await _close(known)

    async def close(self) -> None:
        for name in list(self._ways):
            await self.drop(name)


async def _close(way: Way) -> None:
    await way.carrying.close()
    await way.probing.close()


def _endpoint(remote: Remote, address: Address, front: FrontProxy | None) -> Endpoint:
    host, port = address
    return Endpoint(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        ca=remote.ca,
        certificate=front.certificate if front else None,
        key=front.key if front else None,
        server_name=f"{remote.service}.{remote.namespace}.svc",
        skip_verification=remote.skip_verification,
    )
