"""Classes that stand in where a claim or an Ingress names none, and what a class lets claims do."""

from collections.abc import Iterable, Mapping
from typing import Any

from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.kinds.reading import part, text
from atoll.apiserver.objects.metadata import metadata
from atoll.model.quantity import parse
from atoll.wire import Wire

DEFAULT_STORAGE = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)
_OLD_STORAGE, _OLD_INGRESS = (
    "volume.beta.kubernetes.io/storage-class",
    "kubernetes.io/ingress.class",
)


def default_class(classes: Iterable[Wire], marks: tuple[str, ...]) -> str:
    """The name of the class that is marked as the default: the newest, should there be several."""
    marked = [one for one in classes if any(_notes(one).get(mark) == "true" for mark in marks)]
    by_name = sorted(marked, key=lambda one: text(one, "metadata", "name"))
    newest = sorted(
        by_name, key=lambda one: text(one, "metadata", "creationTimestamp"), reverse=True
    )
    return text(newest[0], "metadata", "name") if newest else ""


def with_storage_class(claim: Wire, classes: Mapping[str, Wire]) -> Wire:
    """The claim with the default class, if it names none and there is one."""
    if _OLD_STORAGE in _notes(claim) or part(claim, "spec").get("storageClassName") is not None:
        return claim
    found = default_class(classes.values(), DEFAULT_STORAGE)
    return _with_spec(claim, storageClassName=found) if found else claim


def with_ingress_class(ingress: Wire, classes: Mapping[str, Wire]) -> Wire:
    """The Ingress with the default class, if it names none and there is one."""
    if _OLD_INGRESS in _notes(ingress) or part(ingress, "spec").get("ingressClassName") is not None:
        return ingress
    found = default_class(classes.values(), DEFAULT_INGRESS)
    return _with_spec(ingress, ingressClassName=found) if found else ingress


def check_growth(claim: Wire, old: Wire, classes: Mapping[str, Wire]) -> None:
    """Refused if a claim wants to grow that is not bound, or whose class does not let it."""
    size, before = _size(claim), _size(old)
    if size is None or before is None or size <= before:
        return
    if text(old, "status", "phase") != "Bound":
        raise Refused("Only bound persistent volume claims can be expanded")
    name = class_of(claim)
    if not name or name != class_of(old) or not classes.get(name, {}).get("allowVolumeExpansion"):
        raise Refused(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions"
            " the pvc must support resize"
        )


def _size(claim: Wire) -> Any:
    return parse(part(claim, "spec", "resources", "requests").get("storage"))


def class_of(claim: Wire) -> str:
    """The name of the storage class that a claim asks for; empty if it asks for none."""
    return _notes(claim).get(_OLD_STORAGE) or text(claim, "spec", "storageClassName")


def _notes(obj: Wire) -> Wire:
    return metadata(obj).get("annotations") or {}


def _with_spec(obj: Wire, **more: str) -> Wire:
    return {**obj, "spec": {**part(obj, "spec"), **more}}
