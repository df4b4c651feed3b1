"""Times as Kubernetes writes them: RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime
from functools import lru_cache


def rfc3339(moment: datetime) -> str:
    return _second(moment.timestamp() // 1)


@lru_cache(maxsize=16)
def _second(since_1970: float) -> str:
    """A whole second; many objects are written in the same one."""
    return datetime.fromtimestamp(since_1970, UTC).isoformat()[:19] + "Z"


def parse_rfc3339(text: str) -> datetime | None:
    """The moment this text names; None if it names none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
