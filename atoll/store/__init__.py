"""Objects at rest: names, bytes and revisions, durable before they are seen.

A `Store` (store.py) keeps every live object and the recent history in memory and hands what must
survive to a `Log` (log.py): one SQLite file in production, bytes in memory in the simulation.
Nothing here knows JSON or Kubernetes.
"""
