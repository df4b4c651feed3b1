"""What an API server refuses, raised by what it means for the caller.

The code and the body of an answer come in; an exception comes out. Both clients raise these.
"""

import json
from collections.abc import Mapping
from typing import Any

from atoll.errors import AtollError

_TOO_MANY = 429


class Refused(AtollError):
    """The server said no, and nothing happened; `status` is what it said."""

    def __init__(self, code: int, status: Mapping[str, Any]) -> None:
        super().__init__(str(status.get("message") or f"the server answered {code}"))
        self.code = code
        self.reason = str(status.get("reason", ""))

    @property
    def may_pass(self) -> bool:
        """Whether the server may say otherwise soon, without anybody doing anything."""
        return self.code >= 500 or self.code == _TOO_MANY


class Missing(Refused):
    """There is no such object, or the server does not know the kind."""


class Taken(Refused):
    """There is such an object already."""


class Stale(Refused):
    """Someone wrote first. Look again, decide again."""


class Expired(Refused):
    """The history asked for is gone. List again."""


_BY_REASON = {"AlreadyExists": Taken, "Expired": Expired, "Gone": Expired, "Conflict": Stale}


def refusal(code: int, body: bytes) -> Refused:
    """What an answer means that is no success, whoever wrote its body."""
    try:
        status = json.loads(body)
    except ValueError:
        status = {"message": body[:200].decode(errors="replace").strip()}
    return refused(code, status if isinstance(status, dict) else {})


def refused(code: int, status: Mapping[str, Any]) -> Refused:
    """What a Status means."""
    meant = _BY_REASON.get(str(status.get("reason", "")))
    if meant is None:
        meant = Missing if code == 404 else Expired if code == 410 else Refused
    return meant(code, status)
