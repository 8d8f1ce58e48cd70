"""What the command line prints: the one place that writes to a terminal, without what a terminal would obey."""

import logging
import re
import sys
from pathlib import Path

import typer

from deep_research.errors import CannotWrite
from deep_research.text.cleaning import clean_text
from deep_research.text.masking import MaskedFormatter
from deep_research.value import canonical_json

# What JSON need not escape and a terminal may obey, or that cannot be written.
_OBEYED = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_ERASE_LINE = "\r\x1b[2K"


def show(text: str = "", *, end: str = "\n") -> None:
    """Print to the standard output what was asked for."""
    typer.echo(clean_text(text) + end, nl=False)


def counted(count: int, one: str) -> str:
    """Return a count with its word, which gets an s where it is not one."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def show_json(**data: object) -> None:
    """Print data to the standard output for programs, with the version of its form."""
    typer.echo(json_line({"schema_version": 1, **data}), nl=False)


def tell(text: str = "", *, end: str = "\n") -> None:
    """Print to the standard error what a person should know beside it."""
    typer.echo(clean_text(text) + end, nl=False, err=True)


def tell_over(text: str) -> None:
    """Write over the last line of the terminal."""
    sys.stderr.write(f"{_ERASE_LINE}{' '.join(clean_text(text).split())}")


def json_line(data: object) -> str:
    """Return data as a line of JSON whose strings hold no sign that a terminal obeys; their values stay the same."""
    return _OBEYED.sub(lambda sign: f"\\u{ord(sign.group()):04x}", canonical_json(data)) + "\n"


def show_report(report: str, *, run_folder: str) -> None:
    """Print a report; links to its figures hold in the folder where the user is."""
    from deep_research.report.markdown import seen_from

    show(seen_from(Path.cwd(), report, run_folder=Path(run_folder)), end="")


def write_report(path: Path, report: str, *, run_folder: str) -> None:
    """Write a report in Markdown where the user wants it."""
    from deep_research.report.markdown import seen_from

    write_bytes(path, seen_from(path.parent, report, run_folder=Path(run_folder)).encode())


def write_bytes(path: Path, raw: bytes) -> None:
    """Write a report in some format where the user wants it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    except OSError as exc:
        raise CannotWrite(
            f"Cannot write {path}: {exc.strerror}. The report is in the run folder all the same."
        ) from exc


def set_up_logs(*, is_verbose: bool) -> None:
    """Print warnings, and with `is_verbose` everything of ours, as lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LogFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("deep_research").setLevel(logging.DEBUG if is_verbose else logging.WARNING)


class _LogFormatter(MaskedFormatter):
    """Cleans log lines too, which may quote what a service or a file said."""

    def format(self, record: logging.LogRecord) -> str:
        return clean_text(super().format(record))
