"""What lasts: databases of both kinds, the store of runs, and files that only their owner may read."""
