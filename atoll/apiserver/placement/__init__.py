"""Atoll's own kinds on the embedded API server: explanations and prices."""
