"""Conditions in an object's status: what holds, why, and since when."""

from atoll.wire import Wire


def condition(kind: str, reason: str, message: str, *, holds: bool) -> Wire:
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "reason": reason, "message": message}


def since(fresh: Wire, known: list[Wire], now: str) -> Wire:
    """A condition with the time of its last change of status, which may lie before this write."""
    before = next((one for one in known if one.get("type") == fresh["type"]), {})
    if before.get("status") == fresh["status"]:
        now = before.get("lastTransitionTime", now)
    return {**fresh, "lastTransitionTime": now}


def with_condition(status: Wire, fresh: Wire, now: str) -> Wire:
    """A status with this condition, behind those of other types."""
    known = status.get("conditions") or []
    others = [one for one in known if one.get("type") != fresh["type"]]
    return {**status, "conditions": [*others, since(fresh, known, now)]}


def is_true(obj: Wire, kind: str) -> bool:
    """Whether the object's status says that this condition holds."""
    known = (obj.get("status") or {}).get("conditions") or []
    return any(one.get("type") == kind and one.get("status") == "True" for one in known)
