"""What becomes known of a request on its way, for those who count and record requests."""

from dataclasses import dataclass, field
from typing import Any

from atoll.apiserver.resource import Resource


@dataclass(slots=True)
class Trail:
    """One request: filled while it is served, looked at when it is answered."""

    audit_id: str
    warnings: list[str] = field(default_factory=list)  # for the response's headers
    verb: str = ""
    resource: Resource | None = None  # if it is about one that is served
    subresource: str = ""
    scope: str = ""
    record: Any = None  # what the audit has of it, if there is one
