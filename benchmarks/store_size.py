"""Bytes on disk for each byte of text: the store without raw bytes, the raw snapshots, and the index."""

import random
import sqlite3
import tempfile
from pathlib import Path

from deep_research.documents.readers import read
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.runner import request_from
from deep_research.settings import Settings
from deep_research.text.sentences import split_sentences
from deep_research.wiring import build

EXAMPLES = Path(__file__).parent.parent / "examples" / "documents"
FILES, SENTENCES_A_FILE = 20, 500
AIM, AIM_WITHOUT = 7.0, 3.0


def make_documents(folder: Path) -> None:
    """Write files of shuffled sentences from the example documents, long enough that tables of SQLite do not count."""
    sentences = []
    for path in sorted(EXAMPLES.iterdir()):
        if path.suffix in (".md", ".html"):
            text = read(path.read_bytes(), name=path.name).text
            sentences += [text[span.start : span.end] for span in split_sentences(text)]
    chance = random.Random(1)
    for number in range(FILES):
        chosen = [f"{chance.choice(sentences)} ({number}.{at})" for at in range(SENTENCES_A_FILE)]
        paragraphs = ["\n".join(chosen[at : at + 5]) for at in range(0, len(chosen), 5)]
        title = f"# Halden Bay heat pump retrofit, volume {number}"
        (folder / f"volume-{number}.md").write_text("\n\n".join([title, *paragraphs]), encoding="utf-8")


async def report() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        docs.mkdir()
        make_documents(docs)
        settings = Settings(home=Path(folder) / "home", logs=Path(folder) / "logs", docs=docs, strategy="local")
        adapters = build(settings)
        question = "How much did the Halden Bay heat pump retrofit cost and what did it achieve?"
        await DeepResearchProcessor(adapters).process(request_from(settings, question))
        await adapters.close()
        indexed = sum(path.stat().st_size for path in docs.iterdir())
        with sqlite3.connect(settings.store_path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (stored,) = connection.execute(
                "SELECT sum(size) FROM blobs WHERE id IN (SELECT text FROM documents)"
            ).fetchone()
            (raw,) = connection.execute(
                "SELECT sum(length(packed)) FROM blobs WHERE id IN (SELECT snapshot FROM documents)"
            ).fetchone()
        connection.close()
        store, index = settings.store_path.stat().st_size, settings.index_path.stat().st_size
    without = (store - raw) / stored
    total = without + raw / stored + index / indexed
    print(f"\nbytes on disk for each byte of text ({stored / 1e6:.2f} MB stored, {indexed / 1e6:.2f} MB indexed)")
    print(f"  store without raw bytes       {without:5.2f}   aim ≤ {AIM_WITHOUT:g}")
    print(f"  raw bytes                     {raw / stored:5.2f}")
    print(f"  index                         {index / indexed:5.2f}")
    print(f"  together                      {total:5.2f}   aim ≤ {AIM:g}")
