"""What a caller wants to do, and how it is told that it may not.

Who may do what is decided by an `Authorize`, mostly that of roles (`access.roles`). Here is only
what all of them speak: the attributes of a request, and Kubernetes' words of refusal.
"""

from collections.abc import Callable
from typing import NamedTuple

from atoll.apiserver.authentication import Identity
from atoll.apiserver.status import ApiError, forbidden


class Attributes(NamedTuple):
    """What a request wants to do to which resource; or, with a path, to which document."""

    verb: str
    group: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    path: str = ""

    @property
    def resource(self) -> str:
        """The resource as roles name it: `pods`, or `pods/log`."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


Authorize = Callable[[Identity, Attributes], None]
"""ApiError 403 unless this identity may do this."""


def refusal(identity: Identity, wanted: Attributes, why: str = "") -> ApiError:
    """What is answered to somebody who may not do this."""
    more = f": {why}" if why else ""
    if wanted.path:
        said = f'forbidden: User "{identity.name}" cannot {wanted.verb} path "{wanted.path}"{more}'
        return _unmistakable(ApiError(403, "Forbidden", said, details={}))
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    said = (
        f'User "{identity.name}" cannot {wanted.verb} resource "{wanted.resource}"'
        f' in API group "{wanted.group}" {where}{more}'
    )
    return _unmistakable(forbidden(wanted.plural, wanted.group, wanted.name, said))


def _unmistakable(error: ApiError) -> ApiError:
    """The refusal, not to be taken by a browser for what a stranger put into it."""
    error.headers["X-Content-Type-Options"] = "nosniff"
    return error


def may(authorize: Authorize, identity: Identity, wanted: Attributes) -> bool:
    """Whether this identity may do this."""
    try:
        authorize(identity, wanted)
    except ApiError:
        return False
    return True
