"""Replay: a run once more from its journal alone, held against the files that it left."""

from pathlib import Path
from typing import NamedTuple

from deep_research.errors import UsageError
from deep_research.pipeline.folder import folder_of
from deep_research.pipeline.journal import blob_of, unpacked
from deep_research.pipeline.journalled import Snapshot
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import NewEvent, RunRow
from deep_research.storage.store.store import Store

# The files that prove a report, and its figures.
_PROOFS = (
    "report.md",
    "paragraphs.jsonl",
    "evidence.jsonl",
    "citations.json",
    "verify.json",
    "verification.md",
    "changes.md",
    "changes.json",
)
_SHOWN_CHARS = 160


class Difference(NamedTuple):
    """The first place at which a file that was replayed is not as the run left it; line 0 where one is missing."""

    file: str
    line: int
    before: str
    now: str


def require_done(row: RunRow) -> None:
    """Raise `UsageError` unless a run has come to its end."""
    if row.status != "done":
        raise UsageError(f"Run {row.id} has no report; it is {row.status}.")


async def copy_run(row: RunRow, store: Store, to: Store, *, logs: Path) -> RunRow:
    """Put into another store what a run was asked, with what it read, as if it had not begun; return its row there."""
    begun = row.replace(
        status="created",
        folder=str(folder_of(logs, row.id, row.created_at)),
        epoch=0,
        owner=None,
        cancel_requested=False,
        active_s=0.0,
        pending=None,
        result=None,
        error=None,
    )
    await to.create_run(begun)
    for scope, answer in (await store.get_answers(row.id)).items():
        await to.put_answer(row.id, scope, answer)
    lease = await to.lease(row.id, current_owner(), lease_s=0.0)
    for call in await store.list_calls(row.id):
        if blob := blob_of(call.answer):
            await to.put_blob(lease, await store.get_blob(blob))
        if call.kind == "fetch" and call.state == "done":
            page = Snapshot.from_json(await unpacked(call.answer, store))
            await to.put_blob(lease, await store.get_blob(page.snapshot))
        await to.record_call(lease, call)
    # Another run may have been the first to read a text, and have given it its title.
    for address, id_ in (await store.list_addresses(row.id)).items():
        document = await store.get_document(id_)
        await to.put_blob(lease, await store.get_blob(document.snapshot))
        await to.put_document(lease, document, address=address)
    event = NewEvent(at=row.created_at, kind="run-status", key="run-status:copied", data={"status": "interrupted"})
    await to.finish(lease, "interrupted", event=event)
    return begun


def differences(before: Path, now: Path) -> tuple[list[str], list[Difference]]:
    """Return the files of two run folders that are compared, and where they differ."""
    figures = {path.relative_to(folder).as_posix() for folder in (before, now) for path in folder.glob("figures/*")}
    names = [name for name in (*_PROOFS, *sorted(figures)) if (before / name).exists() or (now / name).exists()]
    return names, [found for name in names if (found := _difference(name, before / name, now / name))]


def _difference(name: str, before: Path, now: Path) -> Difference | None:
    missing = [path for path in (before, now) if not path.is_file()]
    if missing:
        return Difference(name, 0, *("" if path in missing else "…" for path in (before, now)))
    raw, other = before.read_bytes(), now.read_bytes()
    if raw == other:
        return None
    lines, others = ([*each.decode("utf-8", "replace").splitlines(), ""] for each in (raw, other))
    at = next((at for at, pair in enumerate(zip(lines, others, strict=False)) if pair[0] != pair[1]), 0)
    left, right = lines[at], others[at]
    # What differs may stand far into a long line.
    same = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, same - _SHOWN_CHARS // 4)
    return Difference(name, at + 1, left[begin : begin + _SHOWN_CHARS], right[begin : begin + _SHOWN_CHARS])
