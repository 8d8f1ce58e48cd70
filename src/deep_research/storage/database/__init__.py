"""Databases, as SQLite files or in PostgreSQL: opens one, migrates it, gives transactions and tells its faults."""
