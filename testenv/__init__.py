"""The real thing to compare with: etcd, kube-apiserver and kubectl, built from source and started.

`python -m testenv build` builds them once into a cache outside the checkout; `testenv.cluster`
starts them. Versions are those of go/go.mod. Nothing here ships with Atoll.
"""
