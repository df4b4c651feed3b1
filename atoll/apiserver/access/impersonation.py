"""Speaking for somebody else: the Impersonate headers of a request, checked and carried out.

Who asks, and the headers, come in; as whom the request goes on comes out. Each part of the one
spoken for (the name, every group, the uid, every extra) must be allowed by the verb `impersonate`.
"""

from collections.abc import Iterator

from atoll.apiserver.access.accounts import account_groups, account_of
from atoll.apiserver.authentication import ANONYMOUS, AUTHENTICATED, Identity, extra_of, values_of
from atoll.apiserver.authorization import Attributes, Authorize
from atoll.apiserver.status import bad_request
from atoll.exchange import Headers

PREFIX = "impersonate-"

_EXTRA = "impersonate-extra-"
_GROUP = "authentication.k8s.io"
_UNAUTHENTICATED = ANONYMOUS.groups[0]


def impersonated(headers: Headers, identity: Identity, authorize: Authorize) -> Identity:
    """As whom this request speaks; ApiError 403 if its sender may not."""
    for name in headers:
        if name.startswith(PREFIX):
            break
    else:
        return identity
    user, groups = headers.get("impersonate-user", ""), values_of(headers, "impersonate-group")
    uid, extra = headers.get("impersonate-uid", ""), extra_of(headers, _EXTRA)
    wanted = Identity(user, groups, uid, extra)
    if not user:
        raise bad_request(_nobody(wanted))
    for part in _parts(wanted):
        authorize(identity, part)
    return _identity(wanted)


def _nobody(wanted: Identity) -> str:
    """What is said to whoever names groups and the like, but no user; in Go's own way."""
    groups = "{" + ", ".join(_quoted(wanted.groups)) + "}"
    pairs = ", ".join(
        f'"{key}":[]string{{{", ".join(_quoted(values))}}}' for key, values in wanted.extra
    )
    return (
        f'requested &user.DefaultInfo{{Name:"", UID:"{wanted.uid}",'
        f" Groups:[]string{groups if wanted.groups else '(nil)'},"
        f" Extra:map[string][]string{'{' + pairs + '}' if pairs else '(nil)'}}}"
        " without impersonating a user name"
    )


def _quoted(values: tuple[str, ...]) -> list[str]:
    return [f'"{value}"' for value in values]


def _parts(wanted: Identity) -> Iterator[Attributes]:
    """What the sender must be allowed, one by one."""
    account = account_of(wanted.name)
    if account is not None:
        namespace, name = account
        yield Attributes("impersonate", "", "serviceaccounts", namespace, name)
    else:
        yield Attributes("impersonate", "", "users", name=wanted.name)
    for group in wanted.groups:
        yield Attributes("impersonate", "", "groups", name=group)
    for key, values in wanted.extra:
        for value in values:
            yield Attributes("impersonate", _GROUP, "userextras", name=value, subresource=key)
    if wanted.uid:
        yield Attributes("impersonate", _GROUP, "uids", name=wanted.uid)


def _identity(wanted: Identity) -> Identity:
    account = account_of(wanted.name)
    groups = wanted.groups
    if account is not None and not groups:
        groups = account_groups(account[0])
    if AUTHENTICATED not in groups and _UNAUTHENTICATED not in groups:
        anonymous = wanted.name == ANONYMOUS.name
        groups = (*groups, _UNAUTHENTICATED if anonymous else AUTHENTICATED)
    return wanted._replace(groups=groups)
