"""Member clusters without machines: an API server of ours, nodes on paper, workloads that get on.

`member` puts one together and `link` is the way to it, which can be cut and slowed down. What the
controllers of a real cluster would write into a status is planned by plain functions (`workloads`,
`things`, `progress`, `room`, `nodes`) and written by `keeping`. No pod runs anywhere.
"""
