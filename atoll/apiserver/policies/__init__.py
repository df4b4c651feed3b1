"""Admission policies: rules in CEL that administrators set on any write, and changes they make."""
