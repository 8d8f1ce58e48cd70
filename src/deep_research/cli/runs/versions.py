"""Commands on finished reports: replay one, bring it up to date, compare two of them, export one."""

import asyncio
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from deep_research.cli.options import EXIT_NOT_VERIFIED, Events, Json, Quiet, RunId, Verbose
from deep_research.cli.printing import counted, show, show_json, tell, write_bytes
from deep_research.errors import UsageError
from deep_research.export.changes import changes_as_html, changes_as_markdown
from deep_research.export.formats import FORMATS, check_format, exported, format_of
from deep_research.report.escaping import unescape
from deep_research.service.runs import runs
from deep_research.text.messages.words import words_in
from deep_research.verify.changes import compare_reports


async def update(
    run: RunId,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the new report to a file instead.")] = None,
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Start a run that brings another one up to date, and stay with it."""
    from deep_research.cli.runs.research import output_of, update_run

    return await update_run(run, output=output_of(as_json, events, quiet, verbose, output))


async def replay(
    run: RunId,
    output: Annotated[Path | None, Option("--output", "-o", metavar="FOLDER", help="Keep the files here.")] = None,
) -> int:
    """Replay a run and print whether it came out the same."""
    from deep_research import runner

    replayed = await runner.replay_run(run, folder=output)
    row, now = replayed.row, runner.code_version()
    if row.code_version != now:
        tell(f"Run {row.id[:8]} was made by version {row.code_version}; this is {now}, and may come to something else.")
    for each in replayed.differences:
        if not each.line:
            show(f"{each.file}: {'only the replay has it' if each.now else 'the replay does not have it'}")
        else:
            show(f"{each.file}, line {each.line}:\n  - {each.before}\n  + {each.now}")
    if output is not None:
        tell(f"The replayed files are in {output}")
    if replayed.differences:
        show(f"{len(replayed.differences)} of {counted(len(replayed.files), 'file')} differ.")
        return EXIT_NOT_VERIFIED
    show(f"Identical: {counted(len(replayed.files), 'file')} of run {row.id[:8]} came out byte for byte the same.")
    return 0


async def diff(
    run: RunId,
    other: Annotated[str, Argument(metavar="RUN", help="The run to compare it with.")],
    html: Annotated[Path | None, Option("--html", metavar="FILE", help="Write it as a page instead.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the reports of two runs."""
    before, after = [(await runs.read_contents(each)).edition for each in (run, other)]
    changes, words = compare_reports(before, after), words_in(after.language)
    if html is not None:
        write_bytes(html, changes_as_html(changes, words).encode())
        tell(f"Wrote {html}")
    if as_json:
        show_json(changes=changes.to_json())
    elif html is None:
        show(unescape(changes_as_markdown(changes, words)), end="")


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
