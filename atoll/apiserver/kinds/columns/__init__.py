"""The columns of `kubectl get` for each built-in kind: how a cell is computed from an object.

A cell that shows an age gives a function of now instead of a value; `tables` calls it.
"""
