"""Service accounts and the tokens that speak for them.

A token comes in, the account's identity goes out, if the token is ours, in its time, and all that
it is bound to is still there: the account itself, and the Secret or the other object it was made
for. Tokens are made here too. Who may ask for one is not known here.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from atoll.apiserver.access.signing import Claims, Signing
from atoll.apiserver.authentication import Identity
from atoll.apiserver.objects.view import metadata_of
from atoll.store.record import Record
from atoll.store.store import Store

ACCOUNTS = "serviceaccounts"
TOKEN_SECRET = "kubernetes.io/service-account-token"
ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"
ISSUER = "https://kubernetes.default.svc.cluster.local"
# What a token may be bound to, by kind, and where that is kept.
BOUND = {"Secret": "secrets", "Pod": "pods", "Node": "nodes"}

_USER = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"
_OLD = "kubernetes.io/serviceaccount/"
_OLD_ISSUER = "kubernetes/serviceaccount"
_OURSELVES = (ISSUER,)
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Account:
    """A service account, as tokens name it."""

    namespace: str
    name: str
    uid: str

    @property
    def user(self) -> str:
        return user_name(self.namespace, self.name)

    def identity(self, extra: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Identity:
        return Identity(self.user, account_groups(self.namespace), self.uid, extra)


def user_name(namespace: str, name: str) -> str:
    return f"{_USER}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    return (_GROUP, f"{_GROUP}:{namespace}")


def account_of(user: str) -> tuple[str, str] | None:
    """The namespace and name of the account that this user is; None for anybody else."""
    namespace, colon, name = user.removeprefix(_USER).partition(":")
    if not user.startswith(_USER) or not colon or not namespace or not name or ":" in name:
        return None
    return namespace, name


def secret_token(signing: Signing, account: Account, secret: str) -> str:
    """The token that a Secret keeps: it lasts as long as the Secret and the account do."""
    return signing.sign(
        {
            "iss": _OLD_ISSUER,
            f"{_OLD}namespace": account.namespace,
            f"{_OLD}secret.name": secret,
            f"{_OLD}service-account.name": account.name,
            f"{_OLD}service-account.uid": account.uid,
            "sub": account.user,
        }
    )


@dataclass(frozen=True, slots=True)
class Grant:
    """A token asked for: for whom it is good, from when to when, and what it is bound to."""

    audiences: tuple[str, ...]
    start: int
    end: int
    number: str
    bound: tuple[str, str, str] | None = None  # (kind, name, uid)


def asked_token(signing: Signing, account: Account, grant: Grant) -> str:
    """A token that lasts for a while."""
    about: Claims = {
        "namespace": account.namespace,
        "serviceaccount": {"name": account.name, "uid": account.uid},
    }
    if grant.bound is not None:
        kind, name, uid = grant.bound
        about[kind.lower()] = {"name": name, "uid": uid}
    return signing.sign(
        {
            "aud": list(grant.audiences),
            "exp": grant.end,
            "iat": grant.start,
            "iss": ISSUER,
            "jti": grant.number,
            "kubernetes.io": about,
            "nbf": grant.start,
            "sub": account.user,
        }
    )


@dataclass(slots=True)
class _Read:
    """A token whose signature was checked, and the Secret that was last seen to hold it."""

    claims: Claims
    secret: Record | None = None


@dataclass(slots=True)
class AccountTokens:
    """Tells whom tokens of service accounts stand for."""

    store: Store
    signing: Signing
    now: Callable[[], datetime]
    _read: dict[str, _Read] = field(default_factory=dict)

    def identity(self, token: str) -> Identity | None:
        """The account that this token speaks for; None if it does not, or does not any more."""
        return self.to(token, _OURSELVES)[0]

    def to(self, token: str, audiences: Sequence[str]) -> tuple[Identity | None, Sequence[str]]:
        """The account that this token speaks for to some of these, and to which of them."""
        read = self._read.get(token) or self._checked(token)
        if read is None:
            return None, ()
        old = read.claims.get("iss") == _OLD_ISSUER
        meant = _OURSELVES if old else read.claims["aud"]
        heard = [each for each in audiences if each in meant]
        if not heard:
            return None, ()
        return self._of_secret(token, read) if old else self._of_asked(read.claims), heard

    def _checked(self, token: str) -> _Read | None:
        if token.count(".") != 2:
            return None
        claims = self.signing.claims(token)
        if claims is None:
            return None
        if len(self._read) >= _REMEMBERED:
            self._read.clear()
        read = self._read[token] = _Read(claims)
        return read

    def _of_secret(self, token: str, read: _Read) -> Identity | None:
        claims = read.claims
        namespace = claims[f"{_OLD}namespace"]
        secret = self.store.get("secrets", f"{namespace}/{claims[f'{_OLD}secret.name']}")
        if secret is None or metadata_of(secret).deletion_timestamp is not None:
            return None
        if read.secret is not secret:
            held = (orjson.loads(secret.value).get("data") or {}).get("token")
            if held != b64encode(token.encode()).decode():
                return None
            read.secret = secret
        name, uid = claims[f"{_OLD}service-account.name"], claims[f"{_OLD}service-account.uid"]
        account = Account(namespace, name, uid)
        return account.identity() if self._is_there(account) else None

    def _of_asked(self, claims: Claims) -> Identity | None:
        about = claims["kubernetes.io"]
        if not claims["nbf"] <= self.now().timestamp() < claims["exp"]:
            return None
        namespace = about["namespace"]
        account = Account(namespace, **about["serviceaccount"])
        if not self._is_there(account):
            return None
        for kind, collection in BOUND.items():
            one = about.get(kind.lower())
            if one is None:
                continue
            key = one["name"] if kind == "Node" else f"{namespace}/{one['name']}"
            if not _is(self.store.get(collection, key), one["uid"]):
                return None
        return account.identity(((_CREDENTIAL, (f"JTI={claims['jti']}",)),))

    def _is_there(self, account: Account) -> bool:
        return _is(self.store.get(ACCOUNTS, f"{account.namespace}/{account.name}"), account.uid)


def _is(record: Record | None, uid: str) -> bool:
    """Whether this is the very object, and it is to stay."""
    if record is None:
        return False
    metadata = metadata_of(record)
    return metadata.uid == uid and metadata.deletion_timestamp is None
