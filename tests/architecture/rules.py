"""The rules for single files that no linter knows, each as a function from a folder to a list of what breaks it."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"})
_OUR_MODULE = re.compile(r"deep_research(\.\w+)+(:\w+)?")
_TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")


def long_files(root: Path, limit: int) -> list[str]:
    """Return the files with more lines than the limit."""
    counts = ((path, len(path.read_text(encoding="utf-8").splitlines())) for path in _python_files(root))
    return [f"{path.relative_to(root)}: {count} lines, at most {limit}" for path, count in counts if count > limit]


def long_functions(root: Path, limit: int) -> list[str]:
    """Return the functions with more lines than the limit."""
    return [
        f"{path.relative_to(root)}:{node.lineno}: {node.name} has {length} lines, at most {limit}"
        for path, node in _nodes(root)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > limit
    ]


def shapeless_names(root: Path) -> list[str]:
    """Return the modules and packages whose names say nothing."""
    return [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if (path.suffix == ".py" or path.is_dir()) and path.stem in FORBIDDEN_NAMES
    ]


def environment_reads(root: Path, allowed: Iterable[str]) -> list[str]:
    """Return the places that touch the environment outside the allowed files."""
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    return [
        f"{place}: {found}"
        for path, node in _nodes(root)
        if (found := _os_name(node) & names)
        and str(path.relative_to(root)) not in set(allowed)
        and (place := f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)}")
    ]


def missing_docstrings(root: Path) -> list[str]:
    """Return the modules that do not open with what they are for."""
    return [
        str(path.relative_to(root))
        for path in _python_files(root)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]


def broad_excepts(root: Path, allowed: Mapping[str, str]) -> list[str]:
    """Return the places outside the allowed files that catch everything and do not raise it again."""
    return [
        f"{path.relative_to(root)}:{node.lineno}"
        for path, node in _nodes(root)
        if isinstance(node, ast.ExceptHandler)
        and str(path.relative_to(root)) not in allowed
        and (node.type is None or {"Exception", "BaseException"} & _names(node.type))
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
    ]


def prints(root: Path, allowed: str) -> list[str]:
    """Return the calls of `print` and `echo` outside the allowed file."""
    return [
        f"{path.relative_to(root)}:{node.lineno}"
        for path, node in _nodes(root)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and ast.unparse(node.func) in ("print", "typer.echo")
        and str(path.relative_to(root)) != allowed
    ]


def loose_todos(root: Path) -> list[str]:
    """Return the comments that promise work without naming an issue, as in `TODO(#12)`."""
    return [
        f"{path.relative_to(root)}:{token.start[0]}: {token.string}"
        for path in _python_files(root)
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        if token.type == tokenize.COMMENT and _TODO.search(token.string)
    ]


def _python_files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.py"))


def _nodes(root: Path) -> Iterator[tuple[Path, ast.AST]]:
    for path in _python_files(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield path, node


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _os_name(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
        return {node.attr}
    if isinstance(node, ast.ImportFrom) and node.module == "os":
        return {alias.name for alias in node.names}
    return set()


def repeated_classes(root: Path) -> list[str]:
    """Return the class names that stand more than once, a leading underscore aside, each with its files."""
    files: dict[str, list[str]] = {}
    for path, node in _nodes(root):
        if isinstance(node, ast.ClassDef):
            files.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(root)))
    return [f"{name}: {', '.join(sorted(paths))}" for name, paths in sorted(files.items()) if len(paths) > 1]


def lost_modules(root: Path) -> list[str]:
    """Return the texts that name a module of ours which is not there: no linter sees them, and a move forgets them."""
    return [
        f"{path.relative_to(root)}:{node.lineno}: {node.value}"
        for path, node in _nodes(root)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _OUR_MODULE.fullmatch(node.value)
        # Attributes of traces have the name of the package before theirs, and one word behind it.
        and not (path.name == "traces.py" and node.value.count(".") == 1)
        and not _is_module(root, node.value.partition(":")[0].split(".")[1:])
    ]


def _is_module(root: Path, parts: Sequence[str]) -> bool:
    place = root.joinpath(*parts)
    return place.is_dir() or place.with_suffix(".py").is_file()
