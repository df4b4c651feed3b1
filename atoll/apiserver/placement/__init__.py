"""Atoll's own kinds on the embedded API server: explanations, prices, nodes."""
