"""A folder of documents: files and MB of text a second, bytes of index per byte of text, time of a query."""

import asyncio
import random
import tempfile
import time
from pathlib import Path

from benchmarks.text_speed import chinese, english
from deep_research.corpus.folder import FolderCorpus

FILES = 150
FILE_CHARS = 8_000
QUERIES = 100


async def report() -> None:
    """Print the table."""
    print(f"\nfolder of {FILES} Markdown files, {FILE_CHARS} characters each")
    for language, write in (("en", english), ("zh", chinese)):
        dice = random.Random(11)
        text = write(FILES * FILE_CHARS, dice)
        pieces = [text[at : at + FILE_CHARS] for at in range(0, FILES * FILE_CHARS, FILE_CHARS)]
        with tempfile.TemporaryDirectory() as folder:
            docs = Path(folder) / "docs"
            docs.mkdir()
            for number, piece in enumerate(pieces):
                (docs / f"{number}.md").write_text(f"# File {number}\n\n{piece}", encoding="utf-8")
            await _measure(
                language, docs, Path(folder) / "corpus.db", [dice.choice(pieces)[:60] for _ in range(QUERIES)]
            )


async def _measure(language: str, docs: Path, index: Path, queries: list[str]) -> None:
    text_bytes = sum(path.stat().st_size for path in docs.iterdir())
    corpus = FolderCorpus(docs, index=index)
    first_s, again_s = [await _timed(corpus) for _ in range(2)]
    times = []
    for query in queries:
        begin = time.perf_counter()
        await corpus.search(query, limit=10)
        times.append(time.perf_counter() - begin)
    passages, _ = await corpus.frequencies([])
    await corpus.close()
    times.sort()
    print(
        f"  {language}  {FILES / first_s:5.0f} files/s  {text_bytes / first_s / 1e6:5.2f} MB/s"
        f"   unchanged {again_s:.3f} s"
        f"   {index.stat().st_size / text_bytes:.2f} bytes of index a byte of text"
        f"   query p50 {times[len(times) // 2] * 1e3:.1f} ms, p99 {times[-2] * 1e3:.1f} ms over {passages} passages"
    )


async def _timed(corpus: FolderCorpus) -> float:
    begin = time.perf_counter()
    await corpus.refresh()
    return time.perf_counter() - begin


if __name__ == "__main__":
    asyncio.run(report())
