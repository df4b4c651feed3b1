"""Protobuf's wire format, both ways. Which messages there are is not known here."""
