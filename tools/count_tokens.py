"""Counts what a reader has to read: Python tokens by package, and the words of data files beside them.

Comments, line ends and indents do not count. `python tools/count_tokens.py` prints the table.
"""

import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "deep_research"
DATA = frozenset({".toml", ".md", ".sql", ".json"})
_UNCOUNTED = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        *(tokenize.ENCODING, tokenize.ENDMARKER),
    }
)


def count_tokens(folder: Path = PACKAGE) -> Counter[str]:
    """Return the tokens of each package of a folder; modules that stand alone are one entry, `.`."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        package = inside[0] if len(inside) > 1 else "."
        if path.suffix == ".py":
            counts[package] += python_tokens(path.read_text(encoding="utf-8"))
        elif path.suffix in DATA:
            counts[package] += len(path.read_text(encoding="utf-8").split())
    return counts


def python_tokens(source: str) -> int:
    """Return the number of tokens of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type not in _UNCOUNTED for token in tokens)


def main() -> None:
    """Print the table, the largest first."""
    counts = count_tokens(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
    for package, count in [*counts.most_common(), ("together", counts.total())]:
        print(f"{count:8,}  {package}")


if __name__ == "__main__":
    main()
