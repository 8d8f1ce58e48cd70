"""Commands that check a report: one of ours with its files, or any with its sources."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated, get_args

from typer import Argument, Option

from deep_research.cli.options import EXIT_NOT_VERIFIED, Json
from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import UsageError
from deep_research.export.bundle import check_bundle
from deep_research.service.auditing import audit_file
from deep_research.service.runs import runs
from deep_research.text.messages.words import words_in
from deep_research.text.script import detect_language
from deep_research.text.shortening import shortened
from deep_research.verify.audit import VerdictWord
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
