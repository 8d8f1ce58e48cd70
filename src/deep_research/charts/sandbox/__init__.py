"""The sandbox port and its adapters."""
