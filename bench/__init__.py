"""Measurements: how fast, and at what price in CPU and memory. See docs/benchmarks.md."""
