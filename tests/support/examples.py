"""The example documents, and what makes a test over them cheap: few of them, or an index that is built once."""

import asyncio
import atexit
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from deep_research.documents.corpus.folder import FolderCorpus

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"
# Texts and pages: no other process has to be started to read them.
_FEW = ("halden-courier-article.html", "harbour-heat-faq.html", "measured-performance-2025.md")


def some_documents(folder: Path, names: tuple[str, ...] = _FEW) -> Path:
    """Copy some of the example documents to a new folder and return it."""
    folder.mkdir()
    for name in names:
        shutil.copy(EXAMPLES / name, folder)
    return folder


@cache
def few_documents() -> Path:
    """Return a folder of three of the example documents, for tests that only read it."""
    return some_documents(_kept() / "few")


def copy_index(home: Path) -> Path:
    """Put an index of all example documents into a home, as if they had been asked about before; return the home."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(_index(), home / "index.db")
    return home


@cache
def _index() -> Path:
    path = _kept() / "index.db"

    async def build() -> None:
        corpus = FolderCorpus(EXAMPLES, index=path)
        await corpus.refresh()
        await corpus.close()

    # Who wants it may stand in a loop already.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, build()).result()
    return path


@cache
def _kept() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="examples-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
