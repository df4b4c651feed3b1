"""Capacity to the node: how many replicas, or whole sets of components, fit on these nodes.

Nodes come in as a `NodeTable`, of one cluster or of many; counts and reasons go out. It knows what
Kubernetes' scheduler refuses a node for, not where replicas will in fact land.
"""

from atoll.model.node import Node
from atoll.scheduling.nodes.fitting import answers, fits, fits_by_node
from atoll.scheduling.nodes.sets import fits_sets, sets_by_cluster
from atoll.scheduling.nodes.shortfall import Cause, Obstacle, Shortfall, shortfall
from atoll.scheduling.nodes.table import NodeTable

__all__ = [
    "Cause",
    "Node",
    "NodeTable",
    "Obstacle",
    "Shortfall",
    "answers",
    "fits",
    "fits_by_node",
    "fits_sets",
    "sets_by_cluster",
    "shortfall",
]
