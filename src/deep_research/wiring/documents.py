"""The folders of documents that a run searches, from the settings, and the fetcher of their files."""

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.documents.corpus.index import IndexLocation
from deep_research.documents.corpus.joined import SHARED, JoinedCorpus
from deep_research.documents.corpus.port import Corpus
from deep_research.documents.corpus.stored import Files, files_in
from deep_research.documents.readers.registry import FORMATS
from deep_research.settings import Settings
from deep_research.web.fetch.port import Fetched
from deep_research.wiring.stores import open_database


@dataclass
class FileFetcher:
    """Gets files by their address in a folder, and nothing else; addresses in a second one begin with `SHARED`."""

    timeout_s = 30.0

    files: Files
    shared: Files | None = None

    async def fetch(self, address: str) -> Fetched:
        """Return a file as it is now; raise `SourceError` if it is gone or the address leaves the folder."""
        return await asyncio.to_thread(self._fetch, address)

    def _fetch(self, address: str) -> Fetched:
        files, prefix = self.files, ""
        if self.shared is not None and address.startswith(SHARED):
            files, prefix = self.shared, SHARED
        address, raw = files.fetch(address.removeprefix(prefix))
        suffix = PurePosixPath(address).suffix.lower()
        media_type = next(kind.media_types[0] for kind in FORMATS.values() if suffix in kind.suffixes)
        return Fetched(address=f"{prefix}{address}", media_type=media_type, raw=raw)


@dataclass(frozen=True)
class OwnDocuments:
    """What finds documents, and what gets their files."""

    corpus: Corpus
    fetcher: FileFetcher


def documents_from(settings: Settings) -> OwnDocuments | None:
    """Return the documents of a run, those of two folders as one; none where no folder is named."""
    folders = [folder for folder in (settings.docs, settings.also_docs) if folder is not None]
    if not folders:
        return None
    files = [files_in(folder, index_location(settings)) for folder in folders]
    for each in files:
        each.check()
    corpora = [corpus_of(folder, settings) for folder in folders]
    return OwnDocuments(JoinedCorpus(*corpora) if len(corpora) > 1 else corpora[0], FileFetcher(*files))


def index_location(settings: Settings) -> IndexLocation:
    """Return where documents are indexed: in the PostgreSQL that is named, else in a file."""
    if settings.database_url is None:
        return settings.index_path
    return lambda: open_database(settings, "deep_research.documents.corpus")


def corpus_of(folder: Path, settings: Settings) -> FolderCorpus:
    """Return the documents of a folder as they are indexed."""
    return FolderCorpus(folder, index=index_location(settings))
