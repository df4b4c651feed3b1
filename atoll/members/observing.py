"""The nodes and pods of one member as columns, followed for as long as somebody needs them.

An API client comes in, and whose it is; columns that stay up to date go out, and whether they are
complete. What they are needed for is not known here.
"""

from msgspec import Raw

from atoll.client.api import ApiClient, Head
from atoll.members.columns import Columns
from atoll.members.following import NODES, PODS, Following, Sink
from atoll.members.reading import read_node, read_pod


class Observation:
    """What is seen of a member's nodes and pods."""

    def __init__(self, api: ApiClient, of: str) -> None:
        self.columns = Columns()
        columns = self.columns
        self.followings = (
            Following(api, NODES, _nodes(columns), of),
            Following(api, PODS, _pods(columns), of),
        )
        """To be run by whoever observes, for as long as it does."""

    @property
    def complete(self) -> bool:
        """Whether all nodes and pods that there were have been counted."""
        return all(each.ready.is_set() for each in self.followings)

    async def until_complete(self) -> None:
        for each in self.followings:
            await each.ready.wait()


def _nodes(columns: Columns) -> Sink:
    def take(item: Raw) -> str:
        name, facts = read_node(item)
        columns.put_node(name, facts)
        return name

    return Sink(take, columns.drop_node, lambda: columns.nodes, _name)


def _pods(columns: Columns) -> Sink:
    def take(item: Raw) -> str:
        key, facts = read_pod(item)
        columns.put_pod(key, facts)
        return key

    return Sink(take, columns.drop_pod, lambda: columns.pods, _namespace_and_name)


def _name(head: Head) -> str:
    return head.name


def _namespace_and_name(head: Head) -> str:
    return f"{head.namespace}/{head.name}"
