"""The plane on a real API server: what `atoll run` consists of."""
