"""What a run came to, as its store keeps it. Loads no graph."""

from deep_research.errors import UsageError
from deep_research.export.contents import Contents
from deep_research.report.edition import Edition
from deep_research.store.port import RunRow, Store
from deep_research.value import Value, json_of


class Result(Value):
    """The result of a run; it was not searched where every search failed."""

    title: str
    final_report: str
    learnings: tuple[str, ...]
    sources: tuple[dict[str, object], ...]
    images: tuple[str, ...]
    is_verified: bool
    is_searched: bool = True
    run: str
    folder: str


async def result_of(row: RunRow, store: Store) -> Result:
    """Return the report of a run that is done."""
    if row.result is None:
        raise UsageError(f"Run {row.id} has no report; it is {row.status}.")
    text = (await store.get_blob(str(row.result["report"]))).decode()
    wanted = ("title", "learnings", "sources", "images", "is_verified", "is_searched")
    # A run of an earlier version does not say whether it was searched.
    kept = {key: row.result[key] for key in wanted if key in row.result}
    return Result.from_json({**kept, "final_report": text, "run": row.id, "folder": row.folder})


async def contents_of(row: RunRow, store: Store) -> Contents:
    """Return the report of a run that is done, in parts."""
    if row.result is None:
        raise UsageError(f"Run {row.id} has no report; it is {row.status}.")
    if "edition" not in row.result:
        raise UsageError(f"Run {row.id} was made by an earlier version, which kept its report as Markdown only.")
    edition = Edition.from_json(json_of(await store.get_blob(str(row.result["edition"]))))
    ids = {id_ for caption in edition.captions for id_ in (caption.figure.png, caption.figure.svg) if id_}
    return Contents(
        edition=edition,
        pictures={id_: await store.get_blob(id_) for id_ in sorted(ids)},
        markdown=(await store.get_blob(str(row.result["report"]))).decode(),
        is_verified=bool(row.result["is_verified"]),
        folder=row.folder,
    )
