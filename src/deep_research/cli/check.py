"""Commands that check a report: one of ours with its files, or any with its sources."""

import asyncio
from pathlib import Path

from deep_research import runs
from deep_research.cli.printing import show, show_json
from deep_research.errors import UsageError
from deep_research.export.bundle import check_bundle
from deep_research.verify.recheck import Recheck

EXIT_NOT_VERIFIED = 3


def verify_target(target: str, *, digest: str | None, as_json: bool) -> int:
    """Check a run, a report file or a bundle again, print what is wrong, and return the exit code."""
    path = Path(target)
    found: dict[str, object] = {}
    if path.is_file() and _is_zip(path):
        bundle = check_bundle(path)
        found = {"digest": bundle.digest, "run": bundle.run}
        recheck = bundle.recheck
        if digest and digest.lower() != bundle.digest:
            other = f"the bundle's digest is {bundle.digest}, not {digest}"
            recheck = recheck.model_copy(update={"problems": (other, *recheck.problems)})
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
