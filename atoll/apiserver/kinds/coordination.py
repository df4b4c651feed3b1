"""Lease, the one kind of coordination.k8s.io/v1: who leads, and until when."""

from atoll.apiserver.fields.error import FieldError, invalid
from atoll.apiserver.kinds.reading import Object, part
from atoll.apiserver.kinds.rules import not_negative
from atoll.apiserver.resource import Strategy


def _lease_errors(lease: Object) -> list[FieldError]:
    spec = part(lease, "spec")
    duration = spec.get("leaseDurationSeconds")
    errors = []
    if isinstance(duration, int) and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    return errors + not_negative(spec, "spec", "leaseTransitions")


# Leader election is safe because of this one: no write without knowing what it overwrites.
LEASE = Strategy(unconditional_update=False, creates_on_update=True, errors=_lease_errors)
