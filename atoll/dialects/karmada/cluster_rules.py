"""For what a Cluster is refused, beyond its schema; objects come in well-formed.

Names are short because namespaces are made of them. The sentences are Karmada's where it has one.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from atoll.dialects.karmada import annotations
from atoll.dialects.karmada.admission import NO_NAME
from atoll.dialects.kubernetes.names import label_value_faults, qualified_faults
from atoll.dialects.wire import parts
from atoll.errors import Invalid
from atoll.model.quantity import parse
from atoll.wire import Object

NAME_MAX = 48
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NO_LABEL = "must consist of lower case alphanumeric characters or '-', and must start and end with"
_NO_LABEL += " an alphanumeric character"
_NO_VALUE = "must be empty or at most 63 letters, digits, '-', '_' and '.', beginning and ending"
_NO_VALUE += " with a letter or digit"
_MODES = ("Pull", "Push")
_SCHEMES = ("http", "https", "socks5")
_FORM = "; desired format: https://hostname, https://hostname:port, https://IP or https://IP:port"
_UNBOUNDED = str(2**63 - 1)


def name_problems(name: str) -> list[str]:
    """Why a cluster cannot be called so; nothing if it can."""
    if not name:
        return ["must be not empty"]
    if len(name) > NAME_MAX:
        return [f"must be no more than {NAME_MAX} characters"]
    return [] if _LABEL.fullmatch(name) else [_NO_LABEL]


def cluster(new: Object) -> Iterator[Invalid]:
    """What is wrong with a Cluster."""
    spec = new["spec"]
    if spec["syncMode"] not in _MODES:
        yield Invalid("spec.syncMode", spec["syncMode"], f"must be one of {', '.join(_MODES)}")
    if spec.get("apiEndpoint"):
        yield from _endpoint(spec["apiEndpoint"])
    for key in ("secretRef", "impersonatorSecretRef"):
        for inner in ("namespace", "name") if spec.get(key) is not None else ():
            if not spec[key].get(inner):
                yield Invalid(f"spec.{key}.{inner}", "", "must be given")
    if spec.get("proxyURL"):
        yield from _proxy(spec["proxyURL"])
    yield from _own_annotations(new)
    yield from _places(spec)
    yield from _taints(spec)
    yield from _models(spec)


def _own_annotations(new: Object) -> Iterator[Invalid]:
    """What nobody could read of Atoll's own annotations: the cluster would stay as it was."""
    own = new["metadata"].get("annotations") or {}
    for read in (annotations.price, annotations.properties, annotations.scores):
        try:
            read(own)
        except Invalid as problem:
            yield problem


def _endpoint(written: str) -> Iterator[Invalid]:
    try:
        url = urlsplit(written)
    except ValueError as error:
        yield Invalid("spec.apiEndpoint", written, f"must be a valid URL: {error}{_FORM}")
        return
    if not url.netloc:
        yield Invalid("spec.apiEndpoint", written, f"host must be provided{_FORM}")
    if url.username is not None or url.password is not None:
        problem = "user information is not permitted in the URL"
        yield Invalid("spec.apiEndpoint", url.hostname, problem)  # secrets are not repeated
    if url.fragment:
        yield Invalid("spec.apiEndpoint", written, "fragments are not permitted in the URL")
    if url.query:
        yield Invalid("spec.apiEndpoint", written, "query parameters are not permitted in the URL")


def _proxy(written: str) -> Iterator[Invalid]:
    scheme = written.partition(":")[0].lower() if ":" in written else ""
    if scheme not in _SCHEMES:
        problem = f'unsupported scheme "{scheme}", must be http, https, or socks5'
        yield Invalid("spec.proxyURL", written, problem)


def _places(spec: Object) -> Iterator[Invalid]:
    for key in ("provider", "region", "zone"):
        if label_value_faults(spec.get(key) or ""):
            yield Invalid(f"spec.{key}", spec[key], _NO_VALUE)
    if spec.get("zone") and spec.get("zones"):
        yield Invalid("spec.zone", spec["zone"], "Zone and Zones cannot co-exist")
    for index, zone in enumerate(spec.get("zones") or []):
        if label_value_faults(zone):
            yield Invalid(f"spec.zones[{index}]", zone, _NO_VALUE)


def _taints(spec: Object) -> Iterator[Invalid]:
    known: set[tuple[str, str]] = set()
    for here, taint in parts(spec, "taints", "spec"):
        mark = (taint["key"], taint["effect"])
        yield from of_taint(taint, here)
        if mark in known:
            yield Invalid(here, dict(taint), "taints must be unique by key and effect pair")
        known.add(mark)


def of_taint(taint: Object, here: str) -> Iterator[Invalid]:
    """What is wrong with the key and the value of a taint."""
    if qualified_faults(taint["key"]):
        yield Invalid(f"{here}.key", taint["key"], NO_NAME)
    if label_value_faults(taint.get("value") or ""):
        yield Invalid(f"{here}.value", taint["value"], _NO_VALUE)


def _models(spec: Object) -> Iterator[Invalid]:
    """The first thing wrong with the resource models, as Karmada reports it."""
    models = spec.get("resourceModels") or []
    for index, model in enumerate(models):
        problem = _grade_problem(models[index - 1] if index else None, model)
        if problem is None and index == len(models) - 1 and not _ends_open(model):
            problem = "The max value of each resource in the last model should be MaxInt64"
        if problem is not None:
            yield Invalid("spec.resourceModels", models, problem)
            return


def _grade_problem(before: Object | None, model: Object) -> str | None:
    ranges = model["ranges"]
    if before is not None and before["grade"] == model["grade"]:
        return "The grade of each models should not be the same"
    if before is not None and len(before["ranges"]) != len(ranges):
        return "The number of resource types should be the same"
    for index, each in enumerate(ranges):
        least, most = parse(str(each["min"])), parse(str(each["max"]))
        if least is None or most is None or most <= least:
            return "The max value of each resource must be greater than the min value"
        if before is None:
            if least:
                return "The min value of each resource in the first model should be 0"
        elif before["ranges"][index]["name"] != each["name"]:
            return "The resource types of each models should be the same"
        elif parse(str(before["ranges"][index]["max"])) != least:
            return "Model intervals for resources must be contiguous and non-overlapping"
    return None


def _ends_open(model: Object) -> bool:
    return all(parse(str(each["max"])) == parse(_UNBOUNDED) for each in model["ranges"])
