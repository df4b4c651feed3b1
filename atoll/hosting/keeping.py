"""Where replicas keep the certificates they share: one Secret, which whoever comes first makes.

Two that start at once agree on what was stored first. What is due is decided in `authority`; here
it is read and written, and put to use in the TLS of a server that runs.
"""

import asyncio
import logging
import ssl
import tempfile
from pathlib import Path

from atoll.apiserver.http.tls import server_context
from atoll.client.api import ApiClient, Missing, Refused, Stale, Taken
from atoll.client.transport import Unreachable
from atoll.effects import Effects
from atoll.hosting.authority import Kept, due, kept_in
from atoll.hosting.installation import SERVING_SECRET
from atoll.hosting.place import Place
from atoll.members.objects import SECRETS

log = logging.getLogger("atoll.hosting")

_LOOK_AGAIN_S = 300.0


class Keeping:
    """The certificates of one replica at a place."""

    def __init__(self, api: ApiClient, place: Place, effects: Effects) -> None:
        self._api = api
        self._place = place
        self._effects = effects
        self._tls: ssl.SSLContext | None = None
        self._kept: Kept | None = None

    @property
    def bundle(self) -> bytes:
        """Whom a host is to trust."""
        assert self._kept is not None, "they are ensured first"
        return self._kept.bundle

    async def ensure(self) -> bool:
        """Have certificates that are good for a while; say if they are others than before."""
        kept = await self._agreed()
        is_new, self._kept = kept != self._kept, kept
        if is_new and self._tls is not None:
            _load(self._tls, kept)
        return is_new

    def context(self) -> ssl.SSLContext:
        """TLS with these certificates, and with whatever replaces them."""
        assert self._kept is not None, "they are ensured first"
        with tempfile.TemporaryDirectory(prefix="atoll-") as directory:
            self._tls = server_context(*_written(Path(directory), self._kept))
        return self._tls

    async def keep_fresh(self) -> None:
        """See to it that they are good, for ever."""
        while True:
            await asyncio.sleep(_LOOK_AGAIN_S)
            try:
                if await self.ensure():
                    log.info("The serving certificate was renewed")
            except (Refused, Unreachable) as problem:
                said = {"err": problem}
                log.warning("The serving certificate could not be looked at: %(err)s", said)

    async def _agreed(self) -> Kept:
        """What is kept, after all that is due was done to it."""
        path = SECRETS.path(self._place.namespace, SERVING_SECRET)
        while True:
            secret = await self._api.find(path) or {}
            known = kept_in(secret.get("data") or {})
            # What somebody removed is put back: others still trust it.
            wanted = due(known or self._kept, self._effects.now(), self._place.names)
            if wanted == known:
                return wanted
            metadata = {"namespace": self._place.namespace, "name": SERVING_SECRET}
            fresh = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            write = self._api.replace if secret else self._api.create
            try:
                await write(SECRETS, {**fresh, **secret, "data": wanted.data()})
            except (Stale, Taken, Missing):
                continue  # another replica was faster: what it stored counts
            return wanted


def _written(directory: Path, kept: Kept) -> tuple[Path, Path]:
    """Python's ssl reads a certificate and its key from files only."""
    certificate, key = directory / "tls.crt", directory / "tls.key"
    certificate.write_bytes(kept.certificate)
    key.write_bytes(kept.key)
    return certificate, key


def _load(tls: ssl.SSLContext, kept: Kept) -> None:
    with tempfile.TemporaryDirectory(prefix="atoll-") as directory:
        tls.load_cert_chain(*_written(Path(directory), kept))
