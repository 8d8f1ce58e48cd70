"""What a question is about, and how much of it a text covers."""

from collections.abc import Sequence

from deep_research.corpus.port import OnProgress, PassageHit, Survey
from deep_research.reasoning.relevance import surface_words, terms_of, weigh


class Counted:
    """A corpus that only knows how many passages hold a term."""

    def __init__(self, total: int, **counts: int) -> None:
        self._total, self._counts = total, counts

    async def refresh(self, on_progress: OnProgress | None = None) -> Survey:
        return Survey(files=1, indexed=1)

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:
        return []

    async def passages(self, address: str) -> list[PassageHit]:
        return []

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return self._total, {term: self._counts.get(term, 0) for term in terms}

    async def close(self) -> None:
        return None


async def test_a_rare_term_is_worth_more_than_a_common_one():
    weights = await weigh("heat pump retrofit", Counted(100, heat=60, pump=30, retrofit=2))
    assert weights.of["retrofit"] > weights.of["pump"] > weights.of["heat"]


async def test_a_term_no_document_holds_is_unknown():
    weights = await weigh("health of the heat pumps", Counted(100, heat=60, pump=30))
    assert weights.unknown == {"health"}
    assert weights.known().share(terms_of("heat pumps")) == 1.0
    assert weights.share(terms_of("heat pumps")) < 0.5


async def test_chinese_asking_words_are_not_the_topic():
    weights = await weigh("青岚市的海绵城市改造花了多少钱？", None)
    assert {"青岚", "海绵", "改造"} <= set(weights.of)
    assert not {"多少", "少钱", "造花", "市的"} & set(weights.of)


async def test_a_bigram_across_two_words_does_not_count_as_unknown():
    weights = await weigh("居民健康", Counted(50, 居民=10))
    assert weights.unknown == {"健康"}


async def test_words_that_name_a_side_are_not_the_topic():
    weights = (await weigh("What did the Halden retrofit cost?", None)).without_sides()
    assert set(weights.of) == {"halden", "retrofit"}


def test_missing_terms_are_named_as_the_asker_spelled_them():
    assert surface_words("Which injuries were reported?", ["injuri"]) == ["injuries"]
