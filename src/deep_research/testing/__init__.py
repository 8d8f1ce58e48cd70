"""Fakes that ship and the suites that every adapter of a port must pass. Nothing in the product imports this."""
