"""Collections of uploaded documents."""
