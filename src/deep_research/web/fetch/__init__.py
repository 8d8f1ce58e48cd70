"""The fetch port and its adapters."""
