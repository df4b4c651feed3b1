"""Admission as every Kubernetes API server has it: what is filled into objects, and refused."""
