"""`CorpusSearch`: the documents of a corpus in the role of a search engine."""

from dataclasses import dataclass

from deep_research.documents.corpus.port import Corpus, PassageHit
from deep_research.report.sources.hit import Hit, SearchQuery

_MAX_SNIPPET_CHARS = 300
# Passages asked for to find one file, at first; more are asked for where few files fill the list.
_PASSAGES_A_FILE = 6
_MAX_PASSAGES = 2_000


@dataclass
class CorpusSearch:
    """Finds files by their best passages."""

    name = "local"
    timeout_s = 30.0

    corpus: Corpus

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the best files first, each with the beginning of its best passage."""
        asked = limit * _PASSAGES_A_FILE
        while True:
            passages = await self.corpus.search(query.query, limit=asked)
            best: dict[str, PassageHit] = {}
            for passage in passages:
                best.setdefault(passage.address, passage)
            if len(best) >= limit or len(passages) < asked or asked >= _MAX_PASSAGES:
                return [self._hit(passage) for passage in list(best.values())[:limit]]
            asked *= 4

    def _hit(self, passage: PassageHit) -> Hit:
        snippet = " ".join(passage.text.split())
        if len(snippet) > _MAX_SNIPPET_CHARS:
            snippet = snippet[: _MAX_SNIPPET_CHARS - 1].rstrip() + "…"
        return Hit(
            address=passage.address,
            title=passage.title,
            snippet=snippet,
            engine=self.name,
            published=passage.published,
        )
