"""What a run came to, as its store keeps it. Loads no graph."""

from deep_research.errors import UsageError
from deep_research.store.port import RunRow, Store
from deep_research.value import Value


class Result(Value):
    """The result of a run."""

    title: str
    final_report: str
    learnings: tuple[str, ...]
    sources: tuple[dict[str, object], ...]
    images: tuple[str, ...]
    is_verified: bool
    run: str
    folder: str


async def result_of(row: RunRow, store: Store) -> Result:
    """Return the report of a run that is done."""
    if row.result is None:
        raise UsageError(f"Run {row.id} has no report; it is {row.status}.")
    text = (await store.get_blob(str(row.result["report"]))).decode()
    kept = {key: row.result[key] for key in ("title", "learnings", "sources", "images", "is_verified")}
    return Result.from_json({**kept, "final_report": text, "run": row.id, "folder": row.folder})
