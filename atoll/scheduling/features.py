"""Feature gates of a plane, with Karmada's names and defaults: one value for all who ask.

Gates for what Atoll does not do are not known here, so that nobody opens one in vain. To close
`GracefulEviction` changes nothing: no copy is given up before another has taken its place, unless
a policy's purge mode says so.
"""

from dataclasses import dataclass, fields, replace

from atoll.errors import Invalid


@dataclass(frozen=True, slots=True)
class Features:
    """Each field is the gate of the same name in Karmada's spelling."""

    CustomizedClusterResourceModeling: bool = True
    Failover: bool = False
    GracefulEviction: bool = True
    MultiplePodTemplatesScheduling: bool = False
    PriorityBasedScheduling: bool = False
    PropagateDeps: bool = True
    PropagationPolicyPreemption: bool = False
    SchedulingOvercommitProtection: bool = False
    WorkloadAffinity: bool = False

    @classmethod
    def of(cls, written: str, usual: "Features | None" = None) -> "Features":
        """Read `Name=true,Other=false`, as `--feature-gates` is written; the rest is as usual."""
        known = {each.name for each in fields(cls)}
        chosen: dict[str, bool] = {}
        for part in filter(None, (each.strip() for each in written.split(","))):
            name, equals, value = part.partition("=")
            if not equals or value.lower() not in ("true", "false"):
                raise Invalid("feature-gates", part, "must be NAME=true or NAME=false")
            if name not in known:
                raise Invalid(
                    "feature-gates", name, f"is not a gate; known: {', '.join(sorted(known))}"
                )
            chosen[name] = value.lower() == "true"
        return replace(usual or cls(), **chosen)


USUAL = Features()
"""Karmada's defaults."""
PLANE_USUAL = replace(USUAL, Failover=True, SchedulingOvercommitProtection=True)
"""A plane's: beyond Karmada's defaults, room that was just given away counts as taken, and a
NoExecute taint is an order, whoever wrote it or the policy it comes from."""
