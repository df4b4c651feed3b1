"""The plug-ins that make up a decision, in the order they are asked: the one visible list.

Every plug-in has a name and one function, `compile`: of a question it makes an operation on
columns, or None if it has nothing to say.

- A filter's operation gives every cluster a verdict: pass, or a reason to turn it away.
- A score's operation gives every cluster a number; the numbers are added up.
- A selection's operation takes the candidates and returns those selected.
- A division's operation takes those selected and says how many replicas each gets.

Of the selections and divisions the first that has something to say is the one that counts. Filters
turn clusters away for the first reason in this order.
"""

from atoll.scheduling.plugin import Plugins
from atoll.scheduling.plugins.api_enablement import ApiEnablement
from atoll.scheduling.plugins.available_replicas import AvailableReplicas
from atoll.scheduling.plugins.bounded import Bounded
from atoll.scheduling.plugins.cluster_affinity import ClusterAffinity
from atoll.scheduling.plugins.cluster_eviction import ClusterEviction
from atoll.scheduling.plugins.cluster_locality import ClusterLocality
from atoll.scheduling.plugins.duplicated import Duplicated
from atoll.scheduling.plugins.everyone import Everyone
from atoll.scheduling.plugins.fill import Fill
from atoll.scheduling.plugins.outside_scores import OutsideScores
from atoll.scheduling.plugins.pick import Pick
from atoll.scheduling.plugins.preferences import Preferences
from atoll.scheduling.plugins.soft_taints import SoftTaints
from atoll.scheduling.plugins.spread_by_cluster import SpreadByCluster
from atoll.scheduling.plugins.spread_by_region import SpreadByRegion
from atoll.scheduling.plugins.spread_constraint import SpreadConstraint
from atoll.scheduling.plugins.static_weight import StaticWeight
from atoll.scheduling.plugins.taint_toleration import TaintToleration
from atoll.scheduling.plugins.unsupported import Unsupported
from atoll.scheduling.plugins.workload_affinity import WorkloadAffinity
from atoll.scheduling.plugins.workload_anti_affinity import WorkloadAntiAffinity

DEFAULT = Plugins(
    filters=(
        ApiEnablement(),
        TaintToleration(),
        ClusterAffinity(),
        SpreadConstraint(),
        ClusterEviction(),
        WorkloadAntiAffinity(),
        WorkloadAffinity(),
    ),
    scores=(ClusterLocality(), SoftTaints(), Preferences(), OutsideScores()),
    selections=(Everyone(), SpreadByRegion(), SpreadByCluster(), Pick()),
    divisions=(Duplicated(), Bounded(), StaticWeight(), AvailableReplicas(), Fill(), Unsupported()),
)
