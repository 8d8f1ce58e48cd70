"""What a run came to, as its store keeps it. Loads no graph."""

from pathlib import Path
from typing import Any, cast

from deep_research.errors import UsageError
from deep_research.export.contents import Contents
from deep_research.report.edition import Edition
from deep_research.report.figure import Image
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from deep_research.value import JsonObject, Strings, Value, json_of


class Result(Value):
    """The result of a run; it was not searched where every search failed."""

    title: str
    final_report: str
    learnings: Strings
    sources: tuple[dict[str, object], ...]
    images: tuple[Image, ...]
    is_verified: bool
    is_searched: bool = True
    run: str
    folder: str

    def for_programs(self) -> dict[str, object]:
        """Return the result as the command line prints it for programs."""
        return {
            "title": self.title,
            "finalReport": self.final_report,
            "learnings": list(self.learnings),
            "sources": list(self.sources),
            "images": [image.to_json() for image in self.images],
            "isVerified": self.is_verified,
            "isSearched": self.is_searched,
        }


async def result_of(row: RunRow, store: Store) -> Result:
    """Return the report of a run that is done."""
    result = stored_result(row)
    wanted = ("title", "learnings", "sources", "is_verified", "is_searched")
    # A run of an earlier version does not say whether it was searched.
    values = {key: result[key] for key in wanted if key in result}
    # Before sources were looked through for pictures, the paths of the figures were kept alone.
    images = result["images"] if isinstance(result["images"], list) else []
    known = (Image.from_json({"address": image} if isinstance(image, str) else image) for image in images)
    return Result(
        **cast("dict[str, Any]", values),
        images=tuple(_found(image, row.folder) for image in known),
        final_report=(await store.get_blob(str(result["report"]))).decode(),
        run=row.id,
        folder=row.folder,
    )


def stored_result(row: RunRow) -> JsonObject:
    """Return what a run's row keeps of its report; raise `UsageError` where it has none."""
    if row.result is None:
        raise UsageError(f"Run {row.id} has no report; it is {row.status}.")
    return row.result


def _found(image: Image, folder: str) -> Image:
    """Return a picture with its path where it is one of the run's figures, which may lie in another folder by now."""
    if image.source:
        return image
    return image.replace(address=str(Path(folder, *Path(image.address).parts[-2:])))


async def edition_of(row: RunRow, store: Store) -> Edition:
    """Return the parts of a run's report."""
    result = stored_result(row)
    if "edition" not in result:
        raise UsageError(f"Run {row.id} was made by an earlier version, which kept its report as Markdown only.")
    return Edition.from_json(json_of(await store.get_blob(str(result["edition"]))))


async def contents_of(row: RunRow, store: Store, *, with_sources: bool = False) -> Contents:
    """Return the report of a run that is done, in parts; with its cited sources where they are asked for."""
    edition = await edition_of(row, store)
    result = stored_result(row)
    ids = {id_ for caption in edition.captions for id_ in (caption.figure.png, caption.figure.svg) if id_}
    cited = edition.citations.cited if with_sources else ()
    documents = [await store.get_document(source.document) for source in cited]
    return Contents(
        edition=edition,
        pictures={id_: await store.get_blob(id_) for id_ in sorted(ids)},
        markdown=(await store.get_blob(str(result["report"]))).decode(),
        is_verified=bool(result["is_verified"]),
        folder=row.folder,
        documents=documents,
        snapshots={each.snapshot: await store.get_blob(each.snapshot) for each in documents},
    )
