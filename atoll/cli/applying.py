"""Applying files to a plane from a command, and waiting until something holds.

YAML comes in; every document is applied by the server, and the user sees what was created or
configured. What the objects mean is not known here.
"""

import time
from collections.abc import Callable, Iterator

from atoll.cli.discovering import Kinds, Resource
from atoll.cli.failing import TIMEOUT, CommandFailed
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing
from atoll.wire import Object

_LOOK_EVERY_S = 0.1


def documents(written: str) -> list[Object]:
    """The objects of a YAML file."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [each for each in yaml.load_all(written, loader) if each]


def apply(client: PlainClient, kinds: Kinds, objects: list[Object]) -> Iterator[str]:
    """Apply objects one after the other, and tell of each what became of it."""
    for each in objects:
        resource, path = _found(kinds, each)
        done = "created" if client.apply(path, each).status == 201 else "configured"
        yield f"{resource.title}/{each['metadata']['name']} {done}"


def remove(client: PlainClient, kinds: Kinds, objects: list[Object]) -> Iterator[str]:
    """Delete objects, the last first, and tell of each; what is not there is passed over."""
    for each in reversed(objects):
        resource, path = _found(kinds, each)
        try:
            client.delete(path)
        except Missing:
            continue
        yield f"{resource.title}/{each['metadata']['name']} deleted"


def wait(holds: Callable[[], object], what: str, within_s: float) -> float:
    """Wait until something holds, and say how long that took; CommandFailed if it does not."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > within_s:
            raise CommandFailed(f"not within {within_s:g} s: {what}", code=TIMEOUT)
        time.sleep(_LOOK_EVERY_S)
    return time.monotonic() - began


def _found(kinds: Kinds, wanted: Object) -> tuple[Resource, str]:
    group, _, version = wanted["apiVersion"].rpartition("/")
    metadata = wanted["metadata"]
    resource = kinds.find(".".join(filter(None, (wanted["kind"], version, group))))
    return resource, resource.collection.path(metadata.get("namespace", ""), metadata["name"])
