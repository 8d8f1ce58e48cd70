"""Real answers of search services, and what stands in them, read without the adapters' own code."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category
from xml.etree import ElementTree

import pytest

from deep_research.report.sources.hit import Hit
from tests.support.search_server import Answer

FOLDER = Path(__file__).parents[3] / "shared/evaldata/recorded"
_ATOM = "{http://www.w3.org/2005/Atom}"
# What adapters keep of a text.
_MAX_CHARS = 2_000


@dataclass(frozen=True)
class Recording:
    """One exchange: `data` is the JSON of its body, or the text where it is XML."""

    status: int
    data: Any

    @property
    def answer(self) -> Answer:
        """Return it as the local server sends it."""
        body = self.data.encode() if isinstance(self.data, str) else json.dumps(self.data).encode()
        return Answer(body, status=self.status)


def recording(name: str) -> Recording:
    """Return a recording; skip the test where the folder is not there."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"the recordings are not at {FOLDER}")
    if path.suffix == ".xml":
        meta = json.loads(path.with_suffix(".meta.json").read_text(encoding="utf-8"))
        return Recording(meta["status"], path.read_text(encoding="utf-8"))
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Recording(kept["status"], kept["body"])


class Told(NamedTuple):
    """What a service tells about a result: texts as letters alone, because tags may stand for a blank or for none."""

    address: str
    title: str
    text: str = ""
    published: str = ""


def letters(text: str | None) -> str:
    """Return a text without tags, entities, white space and marks that nobody sees."""
    plain = unescape(re.sub(r"</?[a-zA-Z][^<>]*>", "", text or ""))
    return "".join(char for char in plain if not char.isspace() and category(char) != "Cf")


def told_by(hit: Hit) -> Told:
    """Return a hit in the same form."""
    return Told(hit.address, "".join(hit.title.split()), "".join(hit.snippet.split()), hit.published)


def check(hits: list[Hit], expected: list[Told]) -> None:
    """Compare count, order, addresses, titles, texts and dates."""
    assert [hit.address for hit in hits] == [told.address for told in expected]
    for hit, told in zip(map(told_by, hits), expected, strict=True):
        assert (hit.title, hit.published) == (told.title, told.published)
        is_cut = len(told.text) > 0.5 * _MAX_CHARS
        assert told.text.startswith(hit.text) if is_cut else told.text == hit.text
        assert bool(hit.text) == bool(told.text)


def _iso(day: str, form: str) -> str:
    return datetime.strptime(day, form).replace(tzinfo=UTC).date().isoformat()


def _arxiv(data: str) -> list[Told]:
    entries = ElementTree.fromstring(data).iter(f"{_ATOM}entry")
    found = [{tag: entry.findtext(f"{_ATOM}{tag}") or "" for tag in _FIELDS} for entry in entries]
    return [
        Told(
            re.sub(r"v\d+$", "", one["id"]).replace("http://", "https://"),
            "".join(one["title"].split()),
            "".join(one["summary"].split()),
            one["published"][:10],
        )
        for one in found
    ]


_FIELDS = ("id", "title", "summary", "published")


def _brave(data: Any) -> list[Told]:
    return [
        Told(one["url"], letters(one["title"]), letters(one["description"]), (one.get("page_age") or "")[:10])
        for one in data["web"]["results"]
    ]


def _crossref(data: Any) -> list[Told]:
    def date_of(parts: list[int]) -> str:
        return "-".join(f"{part:02}" for part in parts)

    def abstract_of(work: Any) -> str:
        return letters(re.sub(r"<jats:title>[^<]*</jats:title>", "", work.get("abstract", "")))

    return [
        Told(
            work["URL"],
            letters(work["title"][0]) if work.get("title") else work["URL"],
            abstract_of(work),
            date_of(work["published"]["date-parts"][0]),
        )
        for work in data["message"]["items"]
    ]


def _github(data: Any) -> list[Told]:
    return [
        Told(one["html_url"], letters(one["title"]), letters(one["body"]), one["created_at"][:10])
        for one in data["items"]
    ]


def _hacker_news(data: Any) -> list[Told]:
    own = "https://news.ycombinator.com/item?id="
    return [
        Told(
            one.get("url") or own + one["objectID"],
            letters(one["title"]),
            letters(one.get("story_text")),
            one["created_at"][:10],
        )
        for one in data["hits"]
    ]


def _openai(data: Any) -> list[Told]:
    messages = [item for item in data["output"] if item["type"] == "message"]
    notes = [note for message in messages for part in message["content"] for note in part["annotations"]]
    # A page that is cited twice is one hit.
    return list(dict.fromkeys(Told(note["url"], letters(note["title"])) for note in notes))


def _openalex(data: Any) -> list[Told]:
    def abstract_of(work: Any) -> str:
        places = {at: word for word, ats in (work["abstract_inverted_index"] or {}).items() for at in ats}
        return "".join(places[at] for at in sorted(places))

    def address_of(work: Any) -> str:
        place = work["best_oa_location"] or {}
        return place.get("pdf_url") or place.get("landing_page_url") or work["doi"]

    return [
        Told(address_of(work), letters(work["title"]), letters(abstract_of(work)), work["publication_date"])
        for work in data["results"]
    ]


def _openrouter(data: Any) -> list[Told]:
    notes = [note["url_citation"] for note in data["choices"][0]["message"]["annotations"]]
    return [Told(note["url"], letters(note["title"]) or note["url"], letters(note["content"])) for note in notes]


def _searxng(data: Any) -> list[Told]:
    found = []
    for one in data["results"]:
        day, _, text = one["content"].partition(" ... ")
        found.append(Told(one["url"], letters(one["title"]), letters(text), _iso(day, "%d %b %Y")))
    return found


def _semantic_scholar(data: Any) -> list[Told]:
    def told_of(paper: Any) -> Told:
        arxiv = paper.get("externalIds", {}).get("ArXiv")
        address = f"https://arxiv.org/abs/{arxiv}" if arxiv else paper["openAccessPdf"]["url"]
        return Told(address, letters(paper.get("title")) or address, "", paper.get("publicationDate", ""))

    return [told_of(paper) for paper in data.get("data", [])]


def _serper(data: Any) -> list[Told]:
    def date_of(one: Any) -> str:
        return _iso(one["date"], "%b %d, %Y") if "date" in one else ""

    return [Told(one["link"], letters(one["title"]), letters(one["snippet"]), date_of(one)) for one in data["organic"]]


def _tavily(data: Any) -> list[Told]:
    return [Told(one["url"], letters(one["title"]), letters(one["content"])) for one in data["results"]]


EXPECTED = {
    "arxiv": _arxiv,
    "brave": _brave,
    "crossref": _crossref,
    "github-issues": _github,
    "hacker-news": _hacker_news,
    "openai-search": _openai,
    "openalex": _openalex,
    "openrouter-search": _openrouter,
    "searxng": _searxng,
    "semantic-scholar": _semantic_scholar,
    "serper": _serper,
    "tavily": _tavily,
}
