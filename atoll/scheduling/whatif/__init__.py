"""What would have to change for a decision to come out otherwise.

`parts` are single changes, each to a policy, a cluster or the workload, that can be made to the
inputs of a decision; `loosening` and `room` work out what a part must say; `fixing` says which
parts let a cluster pass the filters; `trying` decides again, so often and no more; `search` looks
for the nearest changes. Nothing is ever guessed: what a change leads to is decided.
"""
