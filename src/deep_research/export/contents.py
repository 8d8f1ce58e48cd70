"""What every export is made of, read from the store of a run that is done."""

from collections.abc import Mapping
from dataclasses import dataclass

from deep_research.errors import UsageError
from deep_research.report.edition import Edition
from deep_research.store.port import RunRow, Store
from deep_research.value import json_of


@dataclass(frozen=True)
class Contents:
    """A finished report: its parts, its pictures by content id, the Markdown that was shipped, and whether it passed.

    `folder` is the run's folder, where the files of the report lie.
    """

    edition: Edition
    pictures: Mapping[str, bytes]
    markdown: str
    is_verified: bool
    folder: str


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
