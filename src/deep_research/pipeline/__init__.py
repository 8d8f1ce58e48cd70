"""The pipeline: graph, state, one file a stage or collaborator, runtime, budget, journal."""
