"""What the environment of a test, and of every command it starts, says unless the test wants something else."""

# A sandbox and a first chart take seconds; a test about them says that it wants them.
NO_CHARTS = {"DEEP_RESEARCH_CHARTS": "false", "SANDBOX_BACKEND": "off"}
