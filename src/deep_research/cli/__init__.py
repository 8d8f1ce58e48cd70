"""The command line: parses, starts and steers runs, prints events and results."""
