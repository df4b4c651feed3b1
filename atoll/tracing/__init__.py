"""Traces for OpenTelemetry: how they are made, written and sent to a collector.

Spans come in, with their ids, times and attributes; OTLP over HTTP goes out. Which change a trace
is about, and what its steps are, is not known here.
"""
