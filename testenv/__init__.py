"""The real thing: Kubernetes, and those who work with it, built from source and started.

`python -m testenv build` builds it once into a cache outside the checkout; `testenv.cluster` starts
one cluster and `testenv.federation` several. Versions are those of go/go.mod and of the modules
beside it. Nothing here ships with Atoll.
"""
