"""Times as Kubernetes writes them: RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:-6] + "Z"


def parse_rfc3339(text: str) -> datetime | None:
    """The moment this text names; None if it names none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
