"""The `.sql` files of a package: named statements and numbered migrations."""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_MIGRATION = re.compile(r"^(\d{4})_\w+\.sql$")


@cache
def load_queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """Return the statements of a package's file of queries by name."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: _COMMENT.sub("", body).strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def load_scripts(package: str, folder: str) -> dict[int, str]:
    """Return the migrations of a package's folder by the schema number they lead to, in order."""
    present = files(package).joinpath(folder).iterdir()
    named = sorted((found[1], file) for file in present if (found := _MIGRATION.match(file.name)))
    return {int(number): file.read_text(encoding="utf-8") for number, file in named}
