"""Audit: who asked for what, when, and how it ended, as audit.k8s.io/v1 events."""
