"""Bootstrap tokens of a plane: what a cluster shows that is to register and is not known yet.

Tokens go in and come out as the Secrets that Kubernetes and Karmada keep them in. Also the line
that registers a cluster with one, and the hashes by which it tells the plane from an impostor.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing
from atoll.effects import new_word
from atoll.errors import UsageError
from atoll.members.objects import SECRETS
from atoll.wire import Wire

SPACE = "kube-system"
TYPE = "bootstrap.kubernetes.io/token"
USAGES = ("signing", "authentication")
GROUP = "system:bootstrappers:karmada:default-cluster-token"

_PREFIX = "bootstrap-token-"
_USAGE = "usage-bootstrap-"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_ID = re.compile(r"[a-z0-9]{6}")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_FORM = "it has the form abcdef.0123456789abcdef"
_INSTANT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, what it may be used for, and until when; empty: for ever."""

    id: str
    secret: str
    usages: tuple[str, ...] = USAGES
    groups: tuple[str, ...] = (GROUP,)
    description: str = ""
    ends: str = ""

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"

    def left_s(self, now: datetime) -> float | None:
        """How long it is good for; None: for ever."""
        try:
            ends = datetime.fromisoformat(self.ends)
        except ValueError:
            return None
        return (ends - now).total_seconds()


def read_words(written: str) -> tuple[str, str]:
    """The public and the secret part of a token; UsageError if it is none."""
    found = _TOKEN.fullmatch(written)
    if found is None:
        raise UsageError(f'"{written[:6]}…" is no token; {_FORM}')
    return found[1], found[2]


def create(
    plane: PlainClient,
    now: datetime,
    ttl_s: float,
    *,
    usages: Sequence[str] = USAGES,
    groups: Sequence[str] = (GROUP,),
    description: str = "",
) -> Token:
    """Make a token that is good for so long, for ever with 0; UsageError if it cannot be so."""
    for usage in usages:
        if usage not in USAGES:
            raise UsageError(f'a token has no usage "{usage}"; it has {" and ".join(USAGES)}')
    for group in groups:
        if not _GROUP.fullmatch(group):
            raise UsageError(f'"{group}" is no group for tokens; it begins system:bootstrappers:')
    ends = (now + timedelta(seconds=ttl_s)).strftime(_INSTANT) if ttl_s else ""
    token = Token(new_word(6), new_word(16), tuple(usages), tuple(groups), description, ends)
    plane.create(SECRETS, _secret(token))
    return token


def _secret(token: Token) -> Wire:
    said = {
        "token-id": token.id,
        "token-secret": token.secret,
        "description": token.description,
        "expiration": token.ends,
        "auth-extra-groups": ",".join(token.groups),
        **{_USAGE + usage: "true" for usage in token.usages},
    }
    data = {key: base64.b64encode(text.encode()).decode() for key, text in said.items() if text}
    metadata = {"name": _PREFIX + token.id, "namespace": SPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TYPE, "data": data}


def tokens_of(plane: PlainClient) -> list[Token]:
    """All tokens of a plane that can be used."""
    secrets = plane.list(SECRETS, SPACE, {"fieldSelector": f"type={TYPE}"})
    return [each for each in map(_token, secrets) if each is not None]


def _token(secret: Wire) -> Token | None:
    data = {key: _text(value) for key, value in (secret.get("data") or {}).items()}
    parts = _TOKEN.fullmatch(f"{data.get('token-id')}.{data.get('token-secret')}")
    if parts is None:
        return None
    groups = [each for each in data.get("auth-extra-groups", "").split(",") if each]
    usages = [each for each in USAGES if data.get(_USAGE + each) == "true"]
    ends = data.get("expiration", "")
    described = data.get("description", "")
    return Token(parts[1], parts[2], tuple(usages), tuple(groups), described, ends)


def _text(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def delete(plane: PlainClient, written: str) -> str:
    """Delete a token by itself or its public part, which is given; UsageError if there is none."""
    name = written if _ID.fullmatch(written) else read_words(written)[0]
    try:
        plane.delete(SECRETS.path(SPACE, _PREFIX + name))
    except Missing as error:
        raise UsageError(f'there is no token "{name}"; see: atoll token list') from error
    return name


def hashes_of(authorities: bytes) -> list[str]:
    """The hash of the public key of each certificate (PEM), as registering wants it."""
    # Only here: it takes a while to import, and most commands about tokens need none of it.
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    try:
        found = x509.load_pem_x509_certificates(authorities)
    except ValueError as error:
        raise UsageError("the plane's certificate authority is no certificate in PEM") from error
    keys = (
        each.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for each in found
    )
    return [f"sha256:{sha256(key).hexdigest()}" for key in keys]
