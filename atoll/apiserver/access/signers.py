"""Who may ask for a certificate, approve one and issue one: the rules of signing requests.

Admission hooks. Who asks is written into a request by us, whatever it says itself. Approval and
issuing each need a right on the signer that the request names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from atoll.apiserver.admission import Admission
from atoll.apiserver.authentication import MASTERS, Identity
from atoll.apiserver.authorization import Attributes, Authorize, may
from atoll.apiserver.fields import error as fields
from atoll.apiserver.kinds.certificates import APPROVED, DENIED, GROUP, has_condition, request_of
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.status import forbidden, invalid
from atoll.wire import Wire

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"

_KIND = "CertificateSigningRequest"


@dataclass(frozen=True, slots=True)
class Signers:
    """Fills in and checks requests for certificates."""

    authorize: Authorize
    now: Callable[[], datetime]

    def mutate(self, seen: Admission) -> Wire:
        """The request as it is to be kept: with who asks, and with when each thing happened."""
        assert seen.object is not None, "deletions are not mutated"
        if seen.resource.kind != _KIND or seen.resource.group != GROUP:
            return seen.object
        if seen.operation == "CREATE":
            return {**seen.object, "spec": _asked_by(seen.object["spec"], seen.identity)}
        return self._dated(seen.object)

    def _dated(self, csr: Wire) -> Wire:
        status = csr.get("status") or {}
        conditions = status.get("conditions")
        if not conditions:
            return csr
        now = rfc3339(self.now())
        times = {"lastUpdateTime": now, "lastTransitionTime": now}
        given = [{k: v for k, v in one.items() if v is not None} for one in conditions]
        return {**csr, "status": {**status, "conditions": [{**times, **one} for one in given]}}

    def check(self, seen: Admission) -> None:
        """ApiError if this may not be asked for, approved or issued by whoever does it."""
        csr, old = seen.object, seen.old
        if seen.resource.kind != _KIND or seen.resource.group != GROUP or csr is None:
            return
        if old is None:
            _check_subject(seen, csr)
        elif seen.subresource == "approval":
            self._check_right(seen, old, "approve")
        else:
            _check_undecided(seen, csr, old)
            if (csr.get("status") or {}) != (old.get("status") or {}):
                self._check_right(seen, old, "sign")

    def _check_right(self, seen: Admission, csr: Wire, verb: str) -> None:
        signer = csr["spec"]["signerName"]
        every = signer.partition("/")[0] + "/*"
        for name in (signer, every):
            if may(self.authorize, seen.identity, Attributes(verb, GROUP, "signers", name=name)):
                return
        why = f'user not permitted to {verb} requests with signerName "{signer}"'
        raise forbidden(seen.resource.plural, GROUP, seen.name, why)


def _asked_by(spec: Wire, identity: Identity) -> Wire:
    told: Wire = {"username": identity.name, "groups": list(identity.groups)}
    if identity.uid:
        told["uid"] = identity.uid
    if identity.extra:
        told["extra"] = {key: list(values) for key, values in identity.extra}
    own = ("username", "uid", "groups", "extra")
    return {key: value for key, value in spec.items() if key not in own} | told


def _check_subject(seen: Admission, csr: Wire) -> None:
    """Nobody becomes an administrator by a certificate."""
    request = request_of(csr)
    if csr["spec"].get("signerName") != CLIENT or request is None:
        return
    if MASTERS in request.organizations:
        why = f"use of {CLIENT} signer with {MASTERS} group is not allowed"
        raise forbidden(seen.resource.plural, GROUP, seen.name, why)


def _check_undecided(seen: Admission, csr: Wire, old: Wire) -> None:
    added = [k for k in (APPROVED, DENIED) if has_condition(csr, k) and not has_condition(old, k)]
    if added:
        why = f'updates may not add a condition of type "{added[0]}"'
        raise invalid(_KIND, GROUP, seen.name, [fields.forbidden("status.conditions", why)])
