"""Which of the pages that were found are read next."""

from deep_research.pipeline.frontier import Pool, add_hits, to_read
from deep_research.report.sources.hit import Hit

ENGLISH, CHINESE, GERMAN = (f"https://docs.test/{part}concepts/pods" for part in ("", "zh-cn/", "de/"))
OTHER = "https://docs.test/concepts/nodes"


def found(*addresses: str) -> list[Hit]:
    return [Hit(address=address, title="t", snippet="", engine="static") for address in addresses]


def read(*addresses: str, seen: tuple[str, ...] = (), picked: tuple[str, ...] = ()) -> list[str]:
    pool: Pool = {}
    hits = found(*addresses)
    add_hits(pool, hits)
    return to_read(pool, [hits], seen=seen, picked=picked, count=len(hits))


def test_of_a_page_in_several_languages_the_one_that_names_none_is_read() -> None:
    assert read(CHINESE, ENGLISH, GERMAN, OTHER) == [ENGLISH, OTHER]
    assert read(CHINESE, ENGLISH, picked=(CHINESE,)) == [ENGLISH]


def test_of_translations_alone_the_best_is_read() -> None:
    assert read(GERMAN, CHINESE, OTHER) == [GERMAN, OTHER]


def test_what_was_read_is_not_read_in_another_language() -> None:
    assert read(CHINESE, ENGLISH, OTHER, seen=(CHINESE,)) == [OTHER]
    assert read("https://docs.test/us/prices", "https://docs.test/uk/prices") == [
        "https://docs.test/us/prices",
        "https://docs.test/uk/prices",
    ]
