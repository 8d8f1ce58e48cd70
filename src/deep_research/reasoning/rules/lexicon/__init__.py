"""The words and patterns that the rules go by: TOML tables beside this file, and patterns in `question_words`."""

import tomllib
from importlib.resources import files
from typing import Any


def load_table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of this folder."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
