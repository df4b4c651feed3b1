"""Objects of Kubernetes' kinds for the tests of interpreting, with only what a test is about."""

from typing import Any

from atoll.interpreting.builtin import NATIVE
from atoll.interpreting.operations import Interpreters, Item
from atoll.wire import Wire

NATIVE_ONLY = Interpreters((NATIVE,))
"""What interprets the kinds of Kubernetes alone."""


def make(kind: tuple[str, str], **fields: Any) -> Wire:
    """An object of a kind, called `web` in `shop`; metadata given is added to that."""
    metadata = {"name": "web", "namespace": "shop", **fields.pop("metadata", {})}
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, **fields}


def make_workload(kind: tuple[str, str], pod: Wire | None = None, **spec: Any) -> Wire:
    """A workload with pods of this spec."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod or {}}
    return make(kind, spec={"template": template, **spec})


def make_items(**statuses: Wire | None) -> tuple[Item, ...]:
    """One report per cluster."""
    return tuple(Item(cluster, status) for cluster, status in statuses.items())
