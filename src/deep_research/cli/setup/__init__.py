"""Commands on what is set up here: settings, the sandbox, the database."""
