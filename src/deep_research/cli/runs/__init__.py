"""Commands that start runs, show them, check their reports and export them."""
