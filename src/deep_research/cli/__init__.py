"""The command line: parses, calls the runner, prints events and results. No logic."""
