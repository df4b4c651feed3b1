"""Numbers as people say them: how many, how long ago, how much money.

Values of the wire come in, words go out. Nothing here knows where they come from.
"""

from datetime import datetime
from decimal import Decimal, InvalidOperation

HOURS_A_MONTH = 730
_SPANS = ((86400, "d"), (3600, "h"), (60, "m"))
_PER_HOUR = " per hour"


def count_of(count: int, what: str) -> str:
    """So many of something."""
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def ago(written: str, now: datetime) -> str:
    """How long a moment is past, in the largest unit that says enough; what is none is unknown."""
    try:
        past = (now - datetime.fromisoformat(written)).total_seconds()
    except (ValueError, TypeError):
        return "<unknown>"
    whole = max(int(past), 0)
    for size, unit in _SPANS:
        if whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def hourly(cost: str) -> str:
    """`0.5 EUR per hour` as `0.5 EUR/h`."""
    return cost.replace(_PER_HOUR, "/h")


def monthly(cost: str) -> str:
    """The same for a month, in brackets; nothing if it is no amount."""
    amount, _, rest = cost.partition(" ")
    try:
        month = Decimal(amount) * HOURS_A_MONTH
    except InvalidOperation:
        return ""
    currency = rest.partition("per hour")[0].strip()
    written = f"{month:.0f}" if month >= 10 else f"{month:.2f}"
    return f" (≈ {' '.join(filter(None, (written, currency)))}/month)"
