"""Member clusters without machines: an API server of ours, nodes on paper, pods that get on.

`member` puts one together. What the controllers of a real cluster would decide is in `plans`, as
plain functions; `keeping` runs them, `hosts` gives pods their places (`places`) and lets them live
(`kubelet`). No container runs.
"""
