"""Bootstrap tokens: `id.secret`, kept as Secrets in kube-system, for those who are not known yet.

A Secret comes in, what it says comes out, if it is a good one. A token that may be used to come in
stands for `system:bootstrap:ID`; one that may be used to sign vouches for the public cluster-info.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import orjson

from atoll.apiserver.authentication import Identity
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.store.store import Store
from atoll.wire import Wire

NAMESPACE = "kube-system"
TYPE = "bootstrap.kubernetes.io/token"
PREFIX = "bootstrap-token-"

_GROUP = "system:bootstrappers"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_MORE_GROUPS = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class BootstrapToken:
    """What a good Secret says."""

    id: str
    secret: str
    groups: tuple[str, ...]
    ends: datetime | None
    comes_in: bool
    signs: bool

    def is_over(self, now: datetime) -> bool:
        return self.ends is not None and self.ends <= now


def read_token(secret: Wire) -> BootstrapToken | None:
    """The token in a Secret; None if it is not one, or not a whole one."""
    if secret.get("type") != TYPE or secret["metadata"].get("namespace") != NAMESPACE:
        return None
    data = {key: _text(value) for key, value in (secret.get("data") or {}).items()}
    parsed = _TOKEN.fullmatch(f"{data.get('token-id')}.{data.get('token-secret')}")
    if parsed is None or secret["metadata"]["name"] != PREFIX + parsed[1]:
        return None
    ends = parse_rfc3339(data["expiration"]) if data.get("expiration") else None
    more = [group for group in data.get("auth-extra-groups", "").split(",") if group]
    bad_end = bool(data.get("expiration")) and ends is None
    if bad_end or not all(_MORE_GROUPS.fullmatch(group) for group in more):
        return None
    return BootstrapToken(
        id=parsed[1],
        secret=parsed[2],
        groups=(_GROUP, *more),
        ends=ends,
        comes_in=data.get("usage-bootstrap-authentication") == "true",
        signs=data.get("usage-bootstrap-signing") == "true",
    )


def _text(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


@dataclass(frozen=True, slots=True)
class BootstrapTokens:
    """Tells whom bootstrap tokens stand for."""

    store: Store
    now: Callable[[], datetime]

    def identity(self, token: str) -> Identity | None:
        parsed = _TOKEN.fullmatch(token)
        if parsed is None:
            return None
        record = self.store.get("secrets", f"{NAMESPACE}/{PREFIX}{parsed[1]}")
        secret: Wire = {} if record is None else orjson.loads(record.value)
        if not secret or secret["metadata"].get("deletionTimestamp"):
            return None
        known = read_token(secret)
        if known is None or not hmac.compare_digest(known.secret, parsed[2]):
            return None
        if not known.comes_in or known.is_over(self.now()):
            return None
        return Identity(f"system:bootstrap:{known.id}", known.groups)
