"""Aggregation: versions of groups that another server serves, behind this one."""
