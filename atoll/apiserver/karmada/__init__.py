"""Karmada's kinds on the embedded API server: what is served, and what is admitted."""
