"""Counts what a reader has to read: tokens of Python, and words of everything else, by package.

Comments, docstrings, line ends and indents do not count; a string of more than 40 characters counts its words. Prompts,
tests and tools are shown beside the sum, not in it. `python tools/count_tokens.py` prints the table, `--sum` one line.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deep_research"
# What the last issue that was ended came to. An issue ends with no more, but for what it is allowed by name.
LAST_SUM = 522_830
WORDS = frozenset({".toml", ".md", ".sql", ".json", ".html", ".xml", ".js", ".css", ".typ"})
LONG_STRING = 40
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
        package = "prompts" if "prompts" in inside else inside[0] if len(inside) > 1 else "."
        if path.suffix == ".py":
            counts[package] += python_tokens(path.read_text(encoding="utf-8"))
        elif path.suffix in WORDS:
            counts[package] += len(path.read_text(encoding="utf-8").split())
    return counts


def python_tokens(source: str) -> int:
    """Return the number of tokens of a module."""
    docstrings = set(_docstrings(source))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(_weight(token) for token in tokens if token.start not in docstrings)


def _docstrings(source: str) -> list[tuple[int, int]]:
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, nodes) and ast.get_docstring(node)]
    return [(node.body[0].lineno, node.body[0].col_offset) for node in documented]


def _weight(token: tokenize.TokenInfo) -> int:
    if token.type in _UNCOUNTED:
        return 0
    is_long = token.type == tokenize.STRING and len(token.string) > LONG_STRING
    return max(1, len(token.string.split())) if is_long else 1


def main() -> None:
    """Print the table, the largest first, or the sum alone."""
    counts = count_tokens()
    beside = {"prompts": counts.pop("prompts", 0)} | {
        name: count_tokens(ROOT / name).total() for name in ("tests", "tools", "evals", "benchmarks")
    }
    if "--sum" in sys.argv:
        print(f"src: {counts.total():,} tokens; {LAST_SUM:,} at the end of the last issue")
        return
    for package, count in [*counts.most_common(), ("together", counts.total()), *beside.items()]:
        print(f"{count:9,}  {package}")


if __name__ == "__main__":
    main()
