"""The search port and its adapters."""
