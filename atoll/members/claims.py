"""Which planes use an account in a member: noted on it, so that none takes it from another.

Two planes may have a cluster by the same name, above all while one takes over from the other. Their
accounts in it have the same name then. One without a note was made by another tool, and stays.
"""

from atoll.client.plain import PlainClient, Wire
from atoll.client.refusals import Missing, Taken
from atoll.members.objects import ACCOUNTS, named

JOINED_BY = "atoll.io/joined-by"


def claim(member: PlainClient, space: str, account: str, plane: str) -> None:
    """Have an account, and note that this plane uses it, unless somebody else made it."""
    wire = named("v1", "ServiceAccount", account, space)
    wire["metadata"]["annotations"] = {JOINED_BY: plane}
    path = ACCOUNTS.path_of(wire)
    try:
        stored = member.get(path)
    except Missing:
        try:
            member.create(ACCOUNTS, wire)
            return
        except Taken:
            stored = member.get(path)
    users = _users(stored)
    if users and plane not in users:
        _note(member, path, [*users, plane])


def release(member: PlainClient, space: str, account: str, plane: str) -> str:
    """This plane needs an account no more; gives who does, nothing if it may be removed."""
    path = ACCOUNTS.path(space, account)
    try:
        users = _users(member.get(path))
    except Missing:
        return ""
    if not users:
        return "which another tool made"
    others = [each for each in users if each != plane]
    if others:
        _note(member, path, others)
        return "which another plane uses"
    return ""


def _users(account: Wire) -> list[str]:
    noted = (account["metadata"].get("annotations") or {}).get(JOINED_BY) or ""
    return [each for each in noted.split(",") if each]


def _note(member: PlainClient, path: str, users: list[str]) -> None:
    member.patch(path, {"metadata": {"annotations": {JOINED_BY: ",".join(users)}}})
