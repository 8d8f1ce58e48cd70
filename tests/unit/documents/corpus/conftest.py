"""A corpus over an empty folder, and a way to put files into it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from deep_research.documents.corpus.folder import FolderCorpus


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def write(docs: Path) -> Callable[..., None]:
    def put(**files: str) -> None:
        for name, text in files.items():
            (docs / f"{name}.md").write_text(text, encoding="utf-8")

    return put


@pytest.fixture
async def corpus(docs: Path, tmp_path: Path) -> AsyncIterator[FolderCorpus]:
    made = FolderCorpus(docs, index=tmp_path / "state" / "corpus.db")
    yield made
    await made.close()
