"""Who may read our numbers: whoever the host lets read that path, as with its own parts.

In: a request with a bearer token. The host is asked whose it is, and whether that one may; it is
asked every time, for numbers are read seldom, and what it takes back then counts at once.
"""

from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes, refusal
from atoll.apiserver.status import unauthorized, unavailable
from atoll.client.api import ApiClient, Refused, Wire
from atoll.client.collection import Collection
from atoll.exchange import Request
from atoll.hosting.approving import REVIEWS

_TOKENS = Collection("authentication.k8s.io/v1", "TokenReview", "tokenreviews", namespaced=False)
_TOLD = ("uid", "groups", "extra")


async def check_reader(api: ApiClient, request: Request) -> None:
    """ApiError 401 or 403 unless a request is from somebody whom the host lets read its path."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthorized()
    try:
        reader = await _whose(api, token.strip())
        if reader is None:
            raise unauthorized()
        if not await _may(api, reader, request.path):
            known = Identity(reader["username"], ())
            raise refusal(known, Attributes("get", path=request.path))
    except Refused as problem:
        raise unavailable(f"the host does not say who may read this: {problem}") from problem


async def _whose(api: ApiClient, token: str) -> Wire | None:
    """Whose token it is; None if nobody's."""
    answer = await api.create(_TOKENS, {"metadata": {}, "spec": {"token": token}})
    status = answer["status"]
    return status["user"] if status.get("authenticated") else None


async def _may(api: ApiClient, reader: Wire, path: str) -> bool:
    told = {key: reader[key] for key in _TOLD if key in reader}
    wanted = {"nonResourceAttributes": {"verb": "get", "path": path}}
    spec = {"user": reader["username"], **told, **wanted}
    answer = await api.create(REVIEWS, {"metadata": {}, "spec": spec})
    return bool(answer["status"]["allowed"])
