"""Who may do what. Administrators may do everything; everybody may ask whether the server is well.

There are no roles yet: an identity outside `system:masters` reads discovery and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass

from atoll.apiserver.authentication import ANONYMOUS, MASTERS, Identity
from atoll.apiserver.status import ApiError, forbidden

_PUBLIC = frozenset(["healthz", "livez", "readyz", "version"])
_FOR_USERS = frozenset(["api", "apis", "openapi"])


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request wants to do to which resource."""

    verb: str
    group: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


Authorize = Callable[[Identity, Attributes], None]
"""ApiError 403 unless this identity may do this."""


def authorize(identity: Identity, wanted: Attributes) -> None:
    """ApiError 403 unless this identity may do this."""
    if MASTERS in identity.groups:
        return
    plural = f"{wanted.plural}/{wanted.subresource}" if wanted.subresource else wanted.plural
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    why = (
        f'User "{identity.name}" cannot {wanted.verb} resource "{plural}"'
        f' in API group "{wanted.group}" {where}'
    )
    raise forbidden(wanted.plural, wanted.group, wanted.name, why)


def authorize_path(identity: Identity, parts: tuple[str, ...], verb: str) -> None:
    """ApiError 403 unless this identity may read this document."""
    first = parts[0] if parts else ""
    if MASTERS in identity.groups or first in _PUBLIC:
        return
    if first in _FOR_USERS and identity != ANONYMOUS:
        return
    path = "/" + "/".join(parts)
    message = f'forbidden: User "{identity.name}" cannot {verb} path "{path}"'
    raise ApiError(403, "Forbidden", message, details={})
