"""The formats that a report can be exported to, by name and by file ending."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from deep_research.errors import UsageError
from deep_research.export.contents import Contents
from deep_research.export.zipped import zipped
from deep_research.report.markdown import seen_from


class Format(NamedTuple):
    """A format: the function that makes it, the package and extra it needs beside the base, and its file ending.

    Markdown is there already, and made by none. Some need the cited sources, not only what is quoted of them.
    """

    function: str = ""
    package: str = ""
    extra: str = ""
    ending: str = ""
    needs_sources: bool = False


FORMATS: dict[str, Format] = {
    "pdf": Format("deep_research.export.pdf:to_pdf", package="typst", extra="pdf"),
    "docx": Format("deep_research.export.docx:to_docx"),
    "html": Format("deep_research.export.html:to_html"),
    "md": Format(),
    "json": Format("deep_research.export.json_ld:to_json"),
    "bib": Format("deep_research.export.bibliography:to_bibtex"),
    "ris": Format("deep_research.export.bibliography:to_ris"),
    "csl": Format("deep_research.export.bibliography:to_csl"),
    "bundle": Format("deep_research.export.bundle:to_bundle", ending="zip", needs_sources=True),
}


def format_of(file: Path) -> str | None:
    """Return the format that a file's ending names, if it names one."""
    ending = file.suffix.lower().lstrip(".")
    return {"markdown": "md", "htm": "html", "zip": "bundle"}.get(ending, ending if ending in FORMATS else None)


def check_format(name: str) -> None:
    """Raise `UsageError` where a format is not known or cannot be made here."""
    if name not in FORMATS:
        raise UsageError(f"There is no format {name!r}; choose from {', '.join(FORMATS)}.")
    if extra := missing_extra(name):
        raise UsageError(f"The format {name} needs an extra: pip install 'deep-research[{extra}]'")


def missing_extra(name: str) -> str:
    """Return the extra that a format needs and that is not installed, "" where it can be made."""
    needed = FORMATS[name]
    return needed.extra if needed.package and not find_spec(needed.package) else ""


def exported(contents: Contents, name: str, *, target: Path | None = None) -> bytes:
    """Return a report in a format; `target` is the file that it is meant for, if there is one."""
    check_format(name)
    if name == "md":
        # The links to its figures hold where it is put.
        folder = (target or Path.cwd() / "report.md").absolute().parent
        return seen_from(folder, contents.markdown, run_folder=Path(contents.folder)).encode()
    module, _, function = FORMATS[name].function.partition(":")
    make: Callable[[Contents], bytes] = getattr(import_module(module), function)
    return make(contents)


def markdown_with_figures(contents: Contents, name: str) -> bytes:
    """Return a ZIP file with the report under a name and the files of its figures, to which its links lead."""
    figures = sorted(Path(contents.folder).glob("figures/*"))
    files = ((f"figures/{path.name}", path.read_bytes()) for path in figures)
    return zipped([(name, contents.markdown.encode()), *files])
