"""What Atoll knows without being told: other projects' kinds that many use, and Kubernetes' own."""

from atoll.interpreting.native import NATIVE_ONLY
from atoll.interpreting.operations import Interpreters, Layer
from atoll.interpreting.thirdparty.argo import ARGO
from atoll.interpreting.thirdparty.flink import FLINK
from atoll.interpreting.thirdparty.flux import FLUX
from atoll.interpreting.thirdparty.kruise import KRUISE
from atoll.interpreting.thirdparty.kubeflow import KUBEFLOW
from atoll.interpreting.thirdparty.kyverno import KYVERNO
from atoll.interpreting.thirdparty.ray import RAY
from atoll.interpreting.thirdparty.spark import SPARK
from atoll.interpreting.thirdparty.volcano import VOLCANO

THIRD_PARTY: Layer = {
    **ARGO,
    **FLINK,
    **FLUX,
    **KRUISE,
    **KUBEFLOW,
    **KYVERNO,
    **RAY,
    **SPARK,
    **VOLCANO,
}
BUILT_IN = Interpreters((THIRD_PARTY, *NATIVE_ONLY.layers))
