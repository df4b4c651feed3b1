"""Numbers about a process, for whoever runs it: counted as it goes, written when asked for.

Counts and durations come in; families of samples and Prometheus' text go out. What is counted, and
why, is not known here.
"""
