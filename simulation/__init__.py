"""Deterministic simulation: the product runs unmodified on a virtual clock, from one seed.

The product does not know that it is simulated; an import contract sees to that.
"""
