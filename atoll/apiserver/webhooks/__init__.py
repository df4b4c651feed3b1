"""Webhooks: servers of users that have a say in what is written, and in how versions convert."""
