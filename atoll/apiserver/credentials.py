"""Where a server's own credentials are, and whether they are still good, without reading any.

Whoever has looked at them notes beside them which bytes were looked at, for which names, and until
when that holds. While the note fits, nothing is parsed, and what parses certificates need not even
be loaded.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.apiserver.access.signing import Signing
from atoll.client.private_file import write_private

ADMIN = "kubernetes-admin"
SERVER_NAMES = (
    *("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
    *("kubernetes.default.svc.cluster.local", "127.0.0.1", "::1"),
)


class _File:
    """A file by its name among the credentials."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: "Credentials", _: type) -> Path:
        return owner.directory / self._name


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the files are."""

    directory: Path

    ca, ca_key = _File("ca.crt"), _File("ca.key")
    server, server_key = _File("server.crt"), _File("server.key")
    admin, admin_key = _File("admin.crt"), _File("admin.key")
    # Whom servers behind this one believe when it speaks for its callers.
    front_ca, front_ca_key = _File("front-proxy-ca.crt"), _File("front-proxy-ca.key")
    front, front_key = _File("front-proxy-client.crt"), _File("front-proxy-client.key")
    account_key = _File("sa.key")  # what tokens of service accounts are signed with
    token = _File("admin.token")
    note = _File("good.json")  # what is known of all the others

    @property
    def all(self) -> tuple[Path, ...]:
        """Everything but the note."""
        authorities = (self.ca, self.ca_key, self.front_ca, self.front_ca_key)
        pairs = (self.server, self.server_key, self.admin, self.admin_key)
        return (*authorities, *pairs, self.front, self.front_key, self.account_key, self.token)


def is_known_good(credentials: Credentials, now: datetime, more_names: Sequence[str]) -> bool:
    """Whether these very files were found good, for these names and until later than now."""
    try:
        note = json.loads(credentials.note.read_bytes())
        since, until = (datetime.fromisoformat(note[key]) for key in ("since", "until"))
        has_names = set(more_names) <= set(note["names"])
        return has_names and since <= now < until and note["digest"] == _digest(credentials)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def note_good(
    credentials: Credentials, names: Sequence[str], since: datetime, until: datetime
) -> None:
    """Write down that they are good as they are."""
    times = {"since": since.isoformat(), "until": until.isoformat()}
    note = {"digest": _digest(credentials), "names": list(names), **times}
    write_private(credentials.note, f"{json.dumps(note)}\n".encode())


def _digest(credentials: Credentials) -> str:
    each = [sha256(path.read_bytes()).digest() for path in credentials.all]
    return sha256(b"".join(each)).hexdigest()


def read_signing(credentials: Credentials, url: str = "") -> Signing:
    """What a server that is reached there signs with, and what it is known by."""
    front = FrontProxy(
        credentials.front_ca.read_bytes(),
        credentials.front.read_bytes(),
        credentials.front_key.read_bytes(),
    )
    return Signing(
        credentials.account_key.read_bytes(),
        credentials.ca.read_bytes(),
        credentials.ca_key.read_bytes(),
        url,
        front,
    )
