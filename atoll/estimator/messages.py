"""The messages of Karmada's estimators, to and from what bindings say: dictionaries both sides.

A request names a cluster and what one replica, or one set of components, needs; an answer is one
number. Needs are in the form of `replicaRequirements` in a ResourceBinding. Newer estimators read
them from fields of bytes, older ones from the fields those replaced, so both are written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from atoll.protobuf.tables import Listed, Mapped, Table, decode, encode
from atoll.wire import Wire

SERVICE = "github.com.karmada_io.karmada.pkg.estimator.service.Estimator"


def _table(**fields: Any) -> Table:
    """A message whose fields are numbered from one on, in this order."""
    return Table(dict(enumerate(fields.items(), 1)))


_QUANTITY = _table(string="text")
_REQUIREMENT = _table(key="text", operator="text", values=Listed("text"))
_TERM = _table(matchExpressions=Listed(_REQUIREMENT), matchFields=Listed(_REQUIREMENT))
_SELECTOR = _table(nodeSelectorTerms=Listed(_TERM))
_TOLERATION = _table(
    key="text", operator="text", value="text", effect="text", tolerationSeconds="number"
)
_CLAIM = _table(
    nodeAffinity=_SELECTOR,
    nodeSelector=Mapped("text"),
    tolerations=Listed(_TOLERATION),
    nodeAffinityBytes="bytes",
    tolerationsBytes=Listed("bytes"),
)
_REQUIREMENTS = _table(
    nodeClaim=_CLAIM,
    resourceRequest=Mapped(_QUANTITY),
    namespace="text",
    priorityClassName="text",
    resourceRequestBytes=Mapped("bytes"),
)
_COMPONENT_REQUIREMENTS = _table(
    nodeClaim=_CLAIM,
    resourceRequest=Mapped(_QUANTITY),
    priorityClassName="text",
    resourceRequestBytes=Mapped("bytes"),
)
_COMPONENT = _table(name="text", replicaRequirements=_COMPONENT_REQUIREMENTS, replicas="number")
_ASSUMED = _table(namespace="text", components=Listed(_COMPONENT))
_REPLICAS_ASKED = _table(
    cluster="text", replicaRequirements=_REQUIREMENTS, assumedWorkloads=Listed(_ASSUMED)
)
_SETS_ASKED = _table(
    cluster="text",
    components=Listed(_COMPONENT),
    namespace="text",
    assumedWorkloads=Listed(_ASSUMED),
)
_REFERENCE = _table(apiVersion="text", kind="text", namespace="text", name="text")
_UNSCHEDULABLE_ASKED = _table(
    cluster="text",
    resource=_REFERENCE,
    unschedulableThreshold="number",  # in nanoseconds
)
_ANSWER = _table(count="number")

REPLICAS, SETS, UNSCHEDULABLE = (
    "MaxAvailableReplicas",
    "MaxAvailableComponentSets",
    "GetUnschedulableReplicas",
)
_ASKED = {REPLICAS: _REPLICAS_ASKED, SETS: _SETS_ASKED, UNSCHEDULABLE: _UNSCHEDULABLE_ASKED}
METHODS = tuple(_ASKED)


def path(method: str) -> str:
    """Where a method is called."""
    return f"/{SERVICE}/{method}"


def write_request(method: str, request: Mapping[str, Any]) -> bytes:
    """A request as estimators read it; needs in it are as bindings have them."""
    return encode(_with_needs(request, _written), _ASKED[method])


def read_request(method: str, data: bytes) -> Wire:
    """A request as it was meant; Malformed if the bytes are none."""
    return _with_needs(decode(data, _ASKED[method]), _meant)


def write_answer(count: int) -> bytes:
    """The one number of an answer."""
    return encode({"count": count}, _ANSWER)


def read_answer(data: bytes) -> int:
    """The number that was answered; Malformed if the bytes are no answer."""
    count: int = decode(data, _ANSWER).get("count", 0)
    return count


def _with_needs(request: Mapping[str, Any], changed: Any) -> Wire:
    """The request with all needs in it in the other form."""
    told = dict(request)
    if told.get("replicaRequirements") is not None:
        told["replicaRequirements"] = changed(told["replicaRequirements"])
    for key in ("components", "assumedWorkloads"):
        if told.get(key):
            told[key] = [_with_needs(each, changed) for each in told[key]]
    return told


def _written(needs: Mapping[str, Any]) -> Wire:
    wanted = needs.get("resourceRequest") or {}
    requests = {name: {"string": str(each)} for name, each in wanted.items()}
    written = {
        **needs,
        "resourceRequest": requests,
        "resourceRequestBytes": {key: encode(each, _QUANTITY) for key, each in requests.items()},
    }
    claim = needs.get("nodeClaim")
    if claim is not None:
        affinity, tolerations = claim.get("hardNodeAffinity"), claim.get("tolerations") or ()
        written["nodeClaim"] = {
            **claim,
            "nodeAffinity": affinity,
            "nodeAffinityBytes": None if affinity is None else encode(affinity, _SELECTOR),
            "tolerationsBytes": [encode(each, _TOLERATION) for each in tolerations],
        }
    return written


def _meant(needs: Mapping[str, Any]) -> Wire:
    newer = needs.get("resourceRequestBytes") or {}
    read = {name: decode(each, _QUANTITY) for name, each in newer.items()}
    requests = read or needs.get("resourceRequest") or {}
    meant = {key: needs[key] for key in ("namespace", "priorityClassName") if needs.get(key)}
    if requests:
        meant["resourceRequest"] = {key: each.get("string", "0") for key, each in requests.items()}
    claim = needs.get("nodeClaim")
    if claim is not None:
        meant["nodeClaim"] = _meant_claim(claim)
    return meant


def _meant_claim(claim: Mapping[str, Any]) -> Wire:
    affinity = claim.get("nodeAffinity")
    if claim.get("nodeAffinityBytes"):
        affinity = decode(claim["nodeAffinityBytes"], _SELECTOR)
    tolerations: Sequence[Wire] = claim.get("tolerations") or ()
    if claim.get("tolerationsBytes"):
        tolerations = [decode(each, _TOLERATION) for each in claim["tolerationsBytes"]]
    found = {
        "hardNodeAffinity": affinity,
        "nodeSelector": claim.get("nodeSelector"),
        "tolerations": list(tolerations),
    }
    return {key: value for key, value in found.items() if value}
