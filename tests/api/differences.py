"""Where our server is meant to differ from kube-apiserver: test -> reason.

A test listed here runs on ours all the same and must fail there.
"""

DIFFERENCES: dict[str, str] = {}
