"""Commands that put a report into other hands: exports in every format."""

import asyncio
from pathlib import Path
from typing import Annotated

from typer import Option

from deep_research import runs
from deep_research.cli.options import RunId
from deep_research.cli.printing import tell, write_bytes
from deep_research.errors import UsageError
from deep_research.export.formats import FORMATS, check_format, exported, format_of


def export(
    run: RunId,
    form: Annotated[
        str | None, Option("--format", "-f", help="Format of the file, if its ending does not say it: md, html, pdf …")
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Write the report of a run to a file, in the format named or in that of the file's ending."""
    name = form or (format_of(output) if output else None)
    if name is None:
        raise UsageError(f"Which format? Name one with --format, or a file with its ending: {', '.join(FORMATS)}.")
    check_format(name)
    contents = asyncio.run(runs.read_contents(run, with_sources=FORMATS[name].needs_sources))
    target = output or Path(f"report-{contents.edition.run[:8]}.{FORMATS[name].ending or name}")
    write_bytes(target, exported(contents, name, target=target))
    tell(f"Wrote {target}")
