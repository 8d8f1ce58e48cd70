"""Commands on finished reports: check one, replay it, bring it up to date, compare two of them, export one."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated, get_args

from typer import Argument, Option

from deep_research.cli.options import EXIT_NOT_VERIFIED, Events, Json, Quiet, RunId, Verbose
from deep_research.cli.printing import counted, show, show_json, tell, write_bytes
from deep_research.errors import UsageError
from deep_research.export.bundle import check_bundle
from deep_research.export.changes import changes_as_html, changes_as_markdown
from deep_research.export.formats import FORMATS, check_format, exported, format_of
from deep_research.report.escaping import unescape
from deep_research.service.auditing import audit_file
from deep_research.service.runs import runs
from deep_research.text.messages.words import words_in
from deep_research.text.script import detect_language
from deep_research.text.shortening import shortened
from deep_research.verify.audit import VerdictWord
from deep_research.verify.changes import compare_reports
from deep_research.verify.recheck import Recheck

_SHOWN_CHARS = 300


def verify(
    target: Annotated[str, Argument(metavar="RUN|FILE|BUNDLE", help="A run, its report.md, or a bundle.zip.")],
    digest: Annotated[str | None, Option(metavar="HEX", help="The digest that a bundle must have.")] = None,
    as_json: Json = False,
) -> int:
    """Check a run, a report file or a bundle again, print what is wrong, and return the exit code."""
    path = Path(target)
    found: dict[str, object] = {}
    if path.is_file() and _is_zip(path):
        bundle = check_bundle(path)
        found = {"digest": bundle.digest, "run": bundle.run}
        recheck = bundle.recheck
        if digest and digest.lower() != bundle.digest:
            other = f"the bundle's digest is {bundle.digest}, not {digest}"
            recheck = recheck.replace(problems=(other, *recheck.problems))
    elif digest:
        raise UsageError("Only a bundle has a digest.")
    elif path.is_file():
        recheck = asyncio.run(runs.recheck_file(path))
    elif path.suffix or len(path.parts) > 1:
        raise UsageError(f"There is no file {target}.")
    else:
        recheck = asyncio.run(runs.recheck_run(target))
    if as_json:
        show_json(passed=recheck.passed, **found, **recheck.to_json())
    else:
        show("\n".join(_lines(recheck, found)))
    return 0 if recheck.passed else EXIT_NOT_VERIFIED


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix.lower() == ".zip" or file.read(4) == b"PK\3\4"


def _lines(recheck: Recheck, found: dict[str, object]) -> list[str]:
    lines = ["Nothing is wrong with it." if recheck.passed else "It does NOT hold:"]
    lines += [f"- {problem}" for problem in recheck.problems]
    lines += [f"- {line}" for line in recheck.verification.in_short()]
    if not recheck.has_texts:
        lines.append("- The texts of its sources are not here: the passages could not be opened again.")
    if found:
        lines.append(f"Digest {found['digest']} (run {found['run']}): compare it with the one you were given.")
    return lines


async def audit(
    file: Annotated[Path, Argument(metavar="FILE", help="A Markdown report with numbered references.")],
    sources: Annotated[
        Path | None, Option(metavar="FOLDER", help="Its sources; without it, the pages it refers to are fetched.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Check any report against its sources, print what is wrong, and return the exit code."""
    audited = await audit_file(file, sources)
    faults = audited.audit.faults
    if as_json:
        show_json(passed=not faults, unread=list(audited.unread), **audited.audit.to_json())
    else:
        words = words_in(detect_language(file.read_text(encoding="utf-8")))
        for fault in faults:
            fact = words(f"audit.{fault.fault}", detail=fault.detail or fault.source)
            show(f"{words('audit.line', line=fault.line)} {fact}\n  {fault.text}")
            if fault.passage:
                shown = shortened(fault.passage, _SHOWN_CHARS)
                show("  " + words("audit.passage", source=fault.source, passage=shown))
        counts = Counter(each.verdict for each in audited.audit.checked)
        show(words("audit.counts", **{kind: counts[kind] for kind in get_args(VerdictWord)}))
        for reason in audited.unread:
            tell(words("audit.unread", reason=reason))
    return EXIT_NOT_VERIFIED if faults else 0


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
        tell(
            f"Run {row.short_id} was made by version {row.code_version}; this is {now}, and may come to something else."
        )
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
    show(f"Identical: {counted(len(replayed.files), 'file')} of run {row.short_id} came out byte for byte the same.")
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
