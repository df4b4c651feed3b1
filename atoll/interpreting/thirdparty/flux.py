"""Flux (toolkit.fluxcd.io): sources, and what is made of them; all of them much alike."""

from collections.abc import Iterator
from dataclasses import dataclass

from atoll.dialects.wire import parts, text
from atoll.interpreting.depending import CONFIG_MAP, needing
from atoll.interpreting.fields import holds, inner
from atoll.interpreting.kinds import SECRET, SERVICE_ACCOUNT, Kind
from atoll.interpreting.operations import Dependency, Interpretation
from atoll.interpreting.thirdparty.pods import suspended_there
from atoll.interpreting.thirdparty.statuses import Tally, picking
from atoll.wire import Object

_VALUES = {"Secret": SECRET, "ConfigMap": CONFIG_MAP}


@dataclass(frozen=True, slots=True)
class _Flux:
    """One kind: why it is ready, what its status says, and where its spec names secrets."""

    reasons: tuple[str, ...]
    said: tuple[str, ...]
    only_reported: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    secrets: tuple[tuple[str, ...], ...] = ()

    def healthy(self, observed: Object) -> bool:
        return holds(inner(observed, "status"), "status", "Ready", *self.reasons)

    def dependencies(self, wire: Object) -> tuple[Dependency, ...]:
        return needing(wire, names=self._needed(wire))

    def _needed(self, wire: Object) -> Iterator[tuple[Kind, str]]:
        spec = inner(wire, "spec")
        for keys in self.secrets:
            here = ".".join(("spec", *keys))
            yield SECRET, text(inner(spec, *keys), "name", here)
        yield SERVICE_ACCOUNT, text(spec, "serviceAccountName", "spec")
        for here, each in parts(spec, "valuesFrom", "spec"):
            kind = _VALUES.get(text(each, "kind", here))
            if kind is not None:
                yield kind, text(each, "name", here)

    def interpretation(self) -> Interpretation:
        reported = ("conditions", *self.said, *self.only_reported, *self.sums)
        tally = Tally(sums=self.sums, last=self.said, conditions=True, generations=True)
        return Interpretation(
            retain=suspended_there,
            aggregate=tally,
            reflect=picking(*reported, generations=True),
            health=self.healthy,
            dependencies=self.dependencies,
        )


_RECONCILED, _FETCHED = ("ReconciliationSucceeded",), ("Succeeded",)
_SOURCE = "source.toolkit.fluxcd.io"
_OWN, _VERIFY = ("secretRef",), ("verify", "secretRef")

_KINDS = {
    ("helm.toolkit.fluxcd.io/v2beta1", "HelmRelease"): _Flux(
        _RECONCILED,
        said=(
            *("lastAttemptedRevision", "lastAppliedRevision", "lastAttemptedValuesChecksum"),
            *("helmChart", "lastReleaseRevision"),
        ),
        sums=("failures", "upgradeFailures", "installFailures"),
        secrets=(("chart", "spec", *_VERIFY), ("kubeConfig", "secretRef")),
    ),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"): _Flux(
        _RECONCILED,
        said=("lastAttemptedRevision", "lastAppliedRevision"),
        secrets=(("decryption", "secretRef"), ("kubeConfig", "secretRef")),
    ),
    (f"{_SOURCE}/v1", "GitRepository"): _Flux(
        _FETCHED,
        said=("artifact",),
        only_reported=("observedIgnore", "observedRecurseSubmodules"),
        secrets=(_OWN, _VERIFY),
    ),
    (f"{_SOURCE}/v1beta2", "Bucket"): _Flux(
        _FETCHED, said=("artifact", "url"), only_reported=("observedIgnore",), secrets=(_OWN,)
    ),
    (f"{_SOURCE}/v1beta2", "HelmChart"): _Flux(
        (*_FETCHED, "ChartPullSucceeded"),
        said=("artifact", "url", "observedChartName", "observedSourceArtifactRevision"),
        secrets=(_VERIFY,),
    ),
    (f"{_SOURCE}/v1beta2", "HelmRepository"): _Flux(
        _FETCHED, said=("artifact", "url"), secrets=(_OWN,)
    ),
    (f"{_SOURCE}/v1beta2", "OCIRepository"): _Flux(
        _FETCHED,
        said=("artifact", "url"),
        only_reported=("observedIgnore", "observedLayerSelector"),
        secrets=(_OWN, _VERIFY, ("certSecretRef",)),
    ),
}
FLUX = {kind: known.interpretation() for kind, known in _KINDS.items()}
