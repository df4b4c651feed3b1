"""The kinds of storage.k8s.io/v1 that drivers of volumes and their helpers write."""

from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import each, fill, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    IMMUTABLE,
    amount_errors,
    chosen,
    fixed,
    in_range,
    needed,
    not_negative,
    unchanged,
    unique,
)
from atoll.apiserver.kinds.storage import provisioner_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import qualified_faults, subdomain_faults
from atoll.wire import Wire

_LIFECYCLES = ("Persistent", "Ephemeral")
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_DRIVER_MAX, _NODE_ID_MAX = 63, 192
_TOKEN_MIN_S, _TOKEN_MAX_S = 600, 2**32
_PARAMETERS_MAX, _PARAMETERS_SIZE_MAX = 512, 256 * 1024


def _default_driver(driver: Wire) -> None:
    spec = grown(driver, "spec")
    fill(
        spec,
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        requiresRepublish=False,
        seLinuxMount=False,
    )
    if not items(spec, "volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _driver_errors(driver: Wire) -> Errors:
    spec = part(driver, "spec")
    yield from chosen(spec, "spec", "fsGroupPolicy", _GROUP_POLICIES)
    requests = parts(spec, "tokenRequests")
    audiences: set[str] = set()
    for request, where in each(requests, "spec.tokenRequests"):
        yield from _token_errors(request, where, audiences)
    yield from (
        not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
        for mode in items(spec, "volumeLifecycleModes")
        if mode not in _LIFECYCLES
    )
    why = "must be greater than or equal to 10 seconds"
    yield from in_range(spec, "spec", "nodeAllocatableUpdatePeriodSeconds", why, 10)
    secret = spec.get("serviceAccountTokenInSecrets")
    if secret is not None and not requests:
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid("spec.serviceAccountTokenInSecrets", secret, why)


def _token_errors(request: Wire, where: str, audiences: set[str]) -> Errors:
    audience, seconds = text(request, "audience"), request.get("expirationSeconds")
    twice = unique(audiences, audience, f"{where}.audience")
    return twice or token_life_errors(seconds, where)


def token_life_errors(seconds: int | None, where: str) -> Errors:
    """How long a token may live that is asked for in an object, where that is said."""
    place = f"{where}.expirationSeconds"
    if seconds is not None and seconds < _TOKEN_MIN_S:
        yield invalid(place, seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > _TOKEN_MAX_S:
        yield invalid(place, seconds, "may not specify a duration larger than 2^32 seconds")


def _driver_update_errors(new: Wire, old: Wire) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    if after.get("attachRequired") != before.get("attachRequired"):  # Kubernetes' own spelling
        yield invalid("spec.attachedRequired", after.get("attachRequired"), IMMUTABLE)
    yield from unchanged(new, old, "spec", "volumeLifecycleModes")


def driver_name_errors(name: str, where: str) -> Errors:
    """What drivers are called, wherever they are named."""
    if not name:
        yield required(where)
    if len(name) > _DRIVER_MAX:
        yield too_long(where, f"may not be more than {_DRIVER_MAX} bytes")
    yield from faulty(where, name, subdomain_faults(name.lower()) if name else ())


def _node_errors(node: Wire) -> Errors:
    names: set[str] = set()
    for driver, where in each(parts(node, "spec", "drivers"), "spec.drivers"):
        name, identity = text(driver, "name"), text(driver, "nodeID")
        yield from driver_name_errors(name, f"{where}.name")
        yield from needed(driver, where, "nodeID")
        if len(identity) > _NODE_ID_MAX:
            yield invalid(f"{where}.nodeID", identity, f"must be {_NODE_ID_MAX} characters or less")
        yield from not_negative(part(driver, "allocatable"), f"{where}.allocatable", "count")
        yield from unique(names, name, f"{where}.name")
        yield from _topology_errors([str(key) for key in items(driver, "topologyKeys")], where)


def _topology_errors(keys: list[str], where: str) -> Errors:
    for index, key in enumerate(keys):
        if not key:
            yield required(where)
        if key in keys[:index]:
            yield duplicate(where, key)
        yield from faulty(where, key, qualified_faults(key))


def _node_update_errors(new: Wire, old: Wire) -> Errors:
    """A driver may come, go, and tell another number of volumes; nothing else of it changes."""
    before = {text(driver, "name"): driver for driver in parts(old, "spec", "drivers")}
    return [
        invalid("spec.drivers", driver, IMMUTABLE)
        for driver in parts(new, "spec", "drivers")
        if (known := before.get(text(driver, "name"))) is not None
        and _lasting(driver) != _lasting(known)
    ]


def _lasting(driver: Wire) -> Wire:
    return {key: value for key, value in driver.items() if key != "allocatable"}


def _capacity_errors(capacity: Wire) -> Errors:
    yield from selector_errors(part(capacity, "nodeTopology"), "nodeTopology")
    name, amount = text(capacity, "storageClassName"), capacity.get("capacity")
    yield from faulty("storageClassName", name, subdomain_faults(name))
    yield from amount_errors(amount, "capacity")


def _attachment_errors(attachment: Wire) -> Errors:
    spec = part(attachment, "spec")
    yield from driver_name_errors(text(spec, "attacher"), "spec.attacher")
    source = part(spec, "source")
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        yield required("spec.source", why)
    elif inline is not None and name is not None:
        yield forbidden("spec.source", why)
    elif name == "":
        why = "must specify non empty persistentVolumeName"
        yield required("spec.source.persistentVolumeName", why)
    node = text(spec, "nodeName")
    yield from faulty("spec.nodeName", node, subdomain_faults(node))
    faults = subdomain_faults(name) if isinstance(name, str) else ()
    yield from faulty("spec.source.persistentVolumeName", name, faults)


def _attributes_errors(attributes: Wire) -> Errors:
    yield from provisioner_errors(text(attributes, "driverName"), "driverName")
    yield from _parameters_errors(part(attributes, "parameters"))


def _parameters_errors(parameters: dict[str, Any]) -> Errors:
    where = "parameters"
    if len(parameters) > _PARAMETERS_MAX:
        yield too_long(where, f"may not be more than {_PARAMETERS_MAX} bytes")
        return
    yield from (invalid(where, key, "field can not be empty.") for key in parameters if not key)
    if sum(len(key) + len(str(value)) for key, value in parameters.items()) > _PARAMETERS_SIZE_MAX:
        yield too_long(where, f"may not be more than {_PARAMETERS_SIZE_MAX} bytes")
    if not parameters:
        yield required(where, "must contain at least one key/value pair")


def _attributes_update_errors(new: Wire, old: Wire) -> Errors:
    return [
        forbidden(key, f"updates to {key} are forbidden.")
        for key in ("driverName", "parameters")
        if new.get(key) != old.get(key)
    ]


CSI_DRIVER = Strategy(
    unconditional_update=False,
    returns_deleted=True,
    default=_default_driver,
    errors=_driver_errors,
    update_errors=_driver_update_errors,
)
CSI_NODE = Strategy(
    unconditional_update=False,
    returns_deleted=True,
    errors=_node_errors,
    update_errors=_node_update_errors,
)
CSI_STORAGE_CAPACITY = Strategy(
    unconditional_update=False,
    errors=_capacity_errors,
    update_errors=fixed(["nodeTopology"], ["storageClassName"]),
)
VOLUME_ATTACHMENT = Strategy(
    has_status=True,
    unconditional_update=False,
    returns_deleted=True,
    errors=_attachment_errors,
    update_errors=fixed(["spec"]),
)
VOLUME_ATTRIBUTES_CLASS = Strategy(
    returns_deleted=True, errors=_attributes_errors, update_errors=_attributes_update_errors
)
