"""Runs: asked for, waiting, driven by a worker, shown while they work, and read afterwards."""
