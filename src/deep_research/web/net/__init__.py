"""Connections to the outside: services that are configured, and the guard before every address that is not."""
