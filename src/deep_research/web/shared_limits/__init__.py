"""Limits on calls to services that hold for all processes of all hosts that share a database."""
