"""Commands on the folders of documents: read them ahead of a run, see what was read, search, show, forget."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from deep_research.cli.options import Json, Quiet
from deep_research.cli.printing import counted, show, show_json, tell, tell_over
from deep_research.documents.corpus.folder import Catalogue
from deep_research.documents.corpus.port import PassageHit, Survey
from deep_research.documents.corpus.scan import require_documents
from deep_research.documents.corpus.stored import files_in
from deep_research.documents.readers import place_of, read
from deep_research.documents.readers.port import Reading
from deep_research.errors import CannotWrite, InputError, SourceError, UsageError
from deep_research.report.sources.document import Document
from deep_research.settings import Settings, load_settings
from deep_research.text.messages.words import words_in
from deep_research.text.shortening import shortened
from deep_research.wiring.documents import corpus_of, index_location
from deep_research.wiring.stores import opened_store

_SNIPPET_CHARS = 240
Folder = Annotated[Path, Argument(metavar="FOLDER", help="Folder of documents.")]
Docs = Annotated[Path | None, Option(metavar="FOLDER", help="Folder of documents to search.")]
corpus = typer.Typer()


@corpus.command("add")
async def add_folder(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Read a folder into the index, so that the first run over it starts at once."""
    survey = await _refreshed(folder, load_settings(), is_quiet=quiet)
    if as_json:
        show_json(survey=survey.to_json())
    else:
        for skipped in survey.skipped:
            show(f"  ! {skipped.reason}")
        for remark in survey.remarks:
            show(f"  · {remark.address}: {remark.remark}")
        gone = f", {survey.removed} gone" if survey.removed else ""
        indexed, files = counted(survey.indexed, "document"), counted(survey.files, "file")
        show(f"{indexed} of {files}; {survey.read_now} read now{gone}.")
    require_documents(survey, folder)


@corpus.command("list")
def list_corpus(
    folder: Annotated[Path | None, Argument(metavar="FOLDER", help="List its documents.")] = None,
    as_json: Json = False,
) -> None:
    """List the indexed folders, or the documents of one."""
    catalogue = Catalogue(index_location(load_settings()))
    if folder is None:
        folders = catalogue.folders()
        if as_json:
            show_json(folders=[each.to_json() for each in folders])
            return
        if not folders:
            tell("No folder is indexed yet: deep-research corpus add FOLDER.")
        for each in folders:
            skipped = f", {each.skipped} skipped" if each.skipped else ""
            holds = f"{counted(each.documents, 'document')}, {counted(each.passages, 'passage')}"
            show(f"{each.path}\n    {holds}{skipped}; {each.refreshed}")
        return
    documents = catalogue.documents(folder)
    if not documents:
        raise InputError(f"The folder {folder} is not indexed: deep-research corpus add {folder}.")
    if as_json:
        show_json(documents=[each.to_json() for each in documents])
        return
    for document in documents:
        about = " · ".join(filter(None, (document.author, document.published, document.language)))
        passages = counted(document.passages, "passage")
        show(f"{document.address}\n    {document.title}{f' ({about})' if about else ''}, {passages}")
        for remark in document.remarks:
            show(f"    ! {remark}")


@corpus.command("remove")
def remove_folder(folder: Folder) -> None:
    """Forget a folder; its files, and the runs that cite them, are left alone."""
    if not Catalogue(index_location(load_settings())).forget(folder):
        raise UsageError(f"The folder {folder} is not indexed; deep-research corpus list shows those that are.")
    tell(f"{folder} is no longer indexed; its files were not touched.")


@corpus.command("search")
async def search_corpus(
    query: Annotated[str, Argument(help="What to look for.")],
    docs: Docs = None,
    limit: Annotated[int, Option(min=1, help="Most passages to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Find passages in a folder of documents."""
    settings = load_settings(docs=docs)
    folder = _folder(settings)
    try:
        await _refreshed(folder, settings, is_quiet=True)
    except CannotWrite as exc:
        tell(f"{exc} It is searched as it stands.")
    opened = corpus_of(folder, settings)
    try:
        found = await opened.search(query, limit=limit)
    finally:
        await opened.close()
    hits = [(hit, _shown_place(folder, hit, settings)) for hit in found]
    if as_json:
        show_json(passages=[hit.to_json() | {"place": place} for hit, place in hits])
        return
    if not hits:
        tell("Nothing was found.")
    for number, (hit, place) in enumerate(hits, start=1):
        shown = shortened(hit.text, _SNIPPET_CHARS)
        show(f"{number}. {hit.title} - {hit.address}{f' ({place})' if place else ''}\n   {shown}")


@corpus.command("show")
def show_document(
    address: Annotated[str, Argument(metavar="FILE", help="Path of the file in its folder.")],
    docs: Docs = None,
    run: Annotated[
        str | None, Option(metavar="RUN", help="Show it as this run read it, also when the file is gone.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a document's text as it is searched and quoted."""
    settings = load_settings(docs=docs)
    shown: Document | Reading = (
        asyncio.run(_stored(address, run)) if run else _as_read(address, _folder(settings), settings)
    )
    if as_json:
        show_json(document=shown.to_json())
        return
    facts = (("title", shown.title), ("author", shown.author), ("date", shown.published), ("language", shown.language))
    for name, value in (*facts, *(("note", warning) for warning in shown.warnings)):
        if value:
            show(f"{name:<9} {value}")
    show(f"\n{shown.text}")


async def _refreshed(folder: Path, settings: Settings, *, is_quiet: bool) -> Survey:
    files_in(folder, index_location(settings)).check()
    opened = corpus_of(folder, settings)

    def count(done: int, total: int, address: str) -> None:
        tell_over(f"{done}/{total} {address[:60]}")

    is_shown = sys.stderr.isatty() and not is_quiet
    try:
        return await opened.refresh(count if is_shown else None)
    finally:
        if is_shown:
            tell_over("")
        await opened.close()


def _folder(settings: Settings) -> Path:
    """Return the folder that is asked about: the one that was named, else the only one that is indexed."""
    if settings.docs is not None:
        return settings.docs
    folders = Catalogue(index_location(settings)).folders()
    if len(folders) == 1:
        return Path(folders[0].path)
    known = ", ".join(folder.path for folder in folders)
    raise UsageError(f"Name the folder with --docs{f': {known}' if known else ''}.")


def _as_read(address: str, folder: Path, settings: Settings) -> Reading:
    try:
        address, raw = files_in(folder, index_location(settings)).fetch(address)
        return read(raw, name=address)
    except SourceError as exc:
        raise InputError(str(exc)) from exc


async def _stored(address: str, run: str) -> Document:
    async with opened_store() as (store, _):
        row = await store.get_run(run)
        known = await store.list_addresses(row.id)
        if address not in known:
            raise InputError(f"Run {row.id} did not read {address!r}; it read {', '.join(sorted(known)) or 'nothing'}.")
        return await store.get_document(known[address])


def _shown_place(folder: Path, hit: PassageHit, settings: Settings) -> str:
    try:
        reading = _as_read(hit.address, folder, settings)
    except InputError:
        return ""
    place = place_of(reading.places, hit.start, hit.end, text=reading.text)
    return words_in("en")(f"place.{place.kind}", label=place.label) if place else ""
