"""Where a server's own credentials are, and whether they are still good, without reading any.

Whoever has looked at them notes beside them which bytes were looked at, for which names, and until
when that holds. While the note fits, nothing is parsed, and what parses certificates need not even
be loaded.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.apiserver.access.signing import Signing

ADMIN = "kubernetes-admin"
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the files are."""

    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self.directory / "ca.key"

    @property
    def server(self) -> Path:
        return self.directory / "server.crt"

    @property
    def server_key(self) -> Path:
        return self.directory / "server.key"

    @property
    def admin(self) -> Path:
        return self.directory / "admin.crt"

    @property
    def admin_key(self) -> Path:
        return self.directory / "admin.key"

    @property
    def front_ca(self) -> Path:
        """Whom servers behind this one believe when it speaks for its callers."""
        return self.directory / "front-proxy-ca.crt"

    @property
    def front_ca_key(self) -> Path:
        return self.directory / "front-proxy-ca.key"

    @property
    def front(self) -> Path:
        return self.directory / "front-proxy-client.crt"

    @property
    def front_key(self) -> Path:
        return self.directory / "front-proxy-client.key"

    @property
    def account_key(self) -> Path:
        """What tokens of service accounts are signed with."""
        return self.directory / "sa.key"

    @property
    def token(self) -> Path:
        return self.directory / "admin.token"

    @property
    def note(self) -> Path:
        """What is known of all the others."""
        return self.directory / "good.json"

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


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step by one that only its owner may read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
