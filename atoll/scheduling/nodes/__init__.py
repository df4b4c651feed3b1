"""Capacity to the node: how many replicas, or whole sets of components, fit on a cluster's nodes.

Nodes come in as a `NodeTable`; counts and reasons go out. It knows what Kubernetes' scheduler
refuses a node for, not where replicas will in fact land.
"""
