"""The folders of documents that a run searches, from the settings."""

from dataclasses import dataclass
from pathlib import Path

from deep_research.corpus.fetcher import CorpusFetcher
from deep_research.corpus.folder import FolderCorpus
from deep_research.corpus.index import IndexPlace
from deep_research.corpus.joined import SHARED, JoinedCorpus, JoinedFetcher
from deep_research.corpus.port import Corpus
from deep_research.corpus.stored import files_in
from deep_research.fetch.port import Fetched, Fetcher
from deep_research.settings import Settings
from deep_research.wiring.adapters import open_database


@dataclass(frozen=True)
class OwnDocuments:
    """What finds documents, and what gets their files."""

    corpus: Corpus
    fetcher: Fetcher


def documents_from(settings: Settings) -> OwnDocuments | None:
    """Return the documents of a run, those of two folders as one; none where no folder is named."""
    folders = [folder for folder in (settings.docs, settings.also_docs) if folder is not None]
    if not folders:
        return None
    for folder in folders:
        files_in(folder, index_place(settings)).check()
    first = _folder(folders[0], settings)
    if len(folders) == 1:
        return first
    second = _folder(folders[1], settings, SHARED)
    return OwnDocuments(JoinedCorpus(first.corpus, second.corpus), JoinedFetcher(first.fetcher, second.fetcher))


def index_place(settings: Settings) -> IndexPlace:
    """Return where documents are indexed: in the PostgreSQL that is named, else in a file."""
    if settings.database_url is None:
        return settings.index_path
    return lambda: open_database(settings, "deep_research.corpus")


def corpus_of(folder: Path, settings: Settings) -> FolderCorpus:
    """Return the documents of a folder as they are indexed."""
    return FolderCorpus(folder, index=index_place(settings))


def _folder(folder: Path, settings: Settings, prefix: str = "") -> OwnDocuments:
    files = files_in(folder, index_place(settings))
    return OwnDocuments(corpus_of(folder, settings), CorpusFetcher(files, Fetched, prefix=prefix))
