"""Atoll: a multi-cluster control plane for Kubernetes."""

__version__ = "0.2.0"
