"""CertificateSigningRequest, the one kind of certificates.k8s.io/v1: a key that wants to be known.

Who asks is written into it by the server. Approval and the certificate come through endpoints of
their own, and each changes nothing but its own part.
"""

import base64
from typing import TYPE_CHECKING

from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import each, items, part, parts, text
from atoll.apiserver.kinds.rules import chosen, in_range, needed, unchanged
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults
from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.apiserver.kinds.certificate_requests import CertificateRequest

GROUP = "certificates.k8s.io"
APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign"),
    *("data encipherment", "decipher only", "digital signature", "email protection"),
    *("encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement"),
    *("key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth"),
    *("signing", "timestamping"),
)
_SHORTEST_S = 600
_STATUSES = ("False", "True", "Unknown")
_LEGACY = "kubernetes.io/legacy-unknown"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_BEGIN = b"-----BEGIN CERTIFICATE REQUEST-----"


def request_of(csr: Wire) -> "CertificateRequest | None":
    """The request proper; None if it is not one, or not signed by the key it is about."""
    raw = _decoded(text(csr, "spec", "request"))
    if not raw.lstrip().startswith(_BEGIN):
        return None
    # Large, and seldom asked for.
    from atoll.apiserver.kinds.certificate_requests import read_request

    return read_request(raw)


def _decoded(written: str) -> bytes:
    """What is written in base64; nothing if it is not."""
    try:
        return base64.b64decode(written)
    except ValueError:
        return b""


def has_condition(csr: Wire, kind: str) -> bool:
    return any(one.get("type") == kind for one in parts(csr, "status", "conditions"))


def _errors(csr: Wire) -> Errors:
    spec = part(csr, "spec")
    if request_of(csr) is None:
        why = "PEM block type must be CERTIFICATE REQUEST"
        yield invalid("spec.request", text(spec, "request"), why)
    usages = items(spec, "usages")
    if not usages:
        yield required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            yield not_supported(f"spec.usages[{index}]", usage, USAGES)
        elif usage in usages[:index]:
            yield duplicate(f"spec.usages[{index}]", usage)
    yield from _signer_errors(text(spec, "signerName"))
    why = "may not specify a duration less than 600 seconds (10 minutes)"
    yield from in_range(spec, "spec", "expirationSeconds", why, _SHORTEST_S)
    yield from _status_errors(csr)


def _signer_errors(name: str) -> Errors:
    where = "spec.signerName"
    if not name:
        yield required(where)
        return
    domain, slash, path = name.partition("/")
    if not slash:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid(where, name, why)
        return
    if name == _LEGACY:
        yield invalid(where, name, "the legacy signerName is not allowed via this API version")
        return
    yield from faulty(where, domain, subdomain_faults(domain))
    if "." not in domain:
        why = "should be a domain with at least two segments separated by dots"
        yield invalid(where, domain, why)
    yield from faulty(where, path, path_segment_faults(path))


def _status_errors(csr: Wire) -> Errors:
    certificate = text(csr, "status", "certificate")
    if certificate and _CERTIFICATE not in _decoded(certificate):
        why = "must contain at least one CERTIFICATE PEM block"
        yield invalid("status.certificate", "<certificate data>", why)
    conditions = parts(csr, "status", "conditions")
    for condition, where in each(conditions, "status.conditions"):
        yield from needed(condition, where, "type", "status")
        if not condition.get("status"):
            continue
        decides = condition.get("type") in (APPROVED, DENIED, FAILED)
        known = condition["status"] in _STATUSES
        yield from chosen(condition, where, "status", ("True",) if decides and known else _STATUSES)
    if has_condition(csr, APPROVED) and has_condition(csr, DENIED):
        why = "Approved and Denied conditions are mutually exclusive"
        decided = [c["type"] for c in conditions if c.get("type") in (APPROVED, DENIED)]
        yield invalid("status.conditions", decided[-1], why)


def _update_errors(new: Wire, old: Wire) -> Errors:
    """What was decided once stays so."""
    for kind in (APPROVED, DENIED, FAILED):
        if has_condition(old, kind) and not has_condition(new, kind):
            why = f'updates may not remove a condition of type "{kind}"'
            yield forbidden("status.conditions", why)
    if part(old, "status").get("certificate"):
        yield from unchanged(new, old, "status", "certificate")


def _keep_spec(csr: Wire, old: Wire) -> None:
    csr["spec"] = old["spec"]


def _approval(proposed: Wire, old: Wire) -> Wire:
    """What is changed through the approval endpoint: conditions, and nothing else."""
    conditions = parts(proposed, "status", "conditions")
    status = {key: value for key, value in part(old, "status").items() if key != "conditions"}
    if conditions:
        status["conditions"] = conditions
    return {**proposed, "spec": old["spec"], "status": status}


CERTIFICATE_SIGNING_REQUEST = Strategy(
    has_status=True,
    selectable={"spec.signerName": ("spec", "signerName")},
    errors=_errors,
    status_errors=_status_errors,
    update_errors=_update_errors,
    prepare_update=_keep_spec,
    parts={"approval": _approval},
)
