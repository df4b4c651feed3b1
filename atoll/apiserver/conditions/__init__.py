"""Expressions about a write: conditions of webhooks, and everything that admission policies say."""
