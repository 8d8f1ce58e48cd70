"""The cited sources for programs that keep references: BibTeX, RIS and CSL-JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal, NamedTuple
from unicodedata import normalize
from urllib.parse import quote

from deep_research.export.contents import Contents
from deep_research.export.markup import is_web
from deep_research.report.citation import Source
from deep_research.report.escaping import one_line
from deep_research.value import Json, JsonObject

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>?#]+")
_DOI_ADDRESS = re.compile(r"https?://(?:dx\.)?doi\.org/|/doi/(?:abs/|full/|pdf/)?|[?&]doi=", re.IGNORECASE)
_ARXIV = re.compile(r"https?://(?:\w+\.)?arxiv\.org/(?:abs|pdf|html)/(\d{4}\.\d{4,5}|[a-z-]+/\d{7})", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_AUTHORS = re.compile(r"\s*[;；、]\s*")
_WORD = re.compile(r"[a-z0-9]+")
# Words of a title in a key.
_KEY_WORDS = 3
_TEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{sign: f"\\{sign}" for sign in "{}$&#_%"},
}
_TEX_LANGUAGES = {"en": "english", "zh": "chinese"}
_IN_ADDRESS = "!#$%&'()*+,-./:;=?@_~[]"

Kind = Literal["article", "preprint", "page", "file"]
# What RIS and CSL call them.
_RIS_KINDS: Mapping[Kind, str] = {"article": "JOUR", "preprint": "UNPB", "page": "ELEC", "file": "GEN"}
_CSL_KINDS: Mapping[Kind, str] = {
    "article": "article-journal",
    "preprint": "article",
    "page": "webpage",
    "file": "document",
}


class BibliographyEntry(NamedTuple):
    """A source as a list of references describes it; what is not known is empty, as is the day of access to a file."""

    key: str
    kind: Kind
    title: str
    authors: tuple[str, ...]
    date: tuple[int, ...]
    accessed: tuple[int, ...]
    address: str
    doi: str
    arxiv: str
    language: str
    note: str


def to_bibtex(contents: Contents) -> bytes:
    """Return the cited sources as BibTeX, in UTF-8."""
    return "\n".join(map(_bibtex, entries(contents))).encode()


def to_ris(contents: Contents) -> bytes:
    """Return the cited sources as RIS."""
    lines = (line for entry in entries(contents) for line in (*_ris(entry), ""))
    return "".join(f"{line}\r\n" for line in lines).encode()


def to_csl(contents: Contents) -> bytes:
    """Return the cited sources as CSL-JSON."""
    return (json.dumps(list(map(_csl, entries(contents))), ensure_ascii=False, indent=2) + "\n").encode()


def entries(contents: Contents) -> list[BibliographyEntry]:
    """Return the cited sources in the order of their numbers, each under a key of its own."""
    found: list[BibliographyEntry] = []
    taken: set[str] = set()
    for source in contents.edition.citations.cited:
        entry = _entry(source, contents.edition.created_at)
        key, number = entry.key, 1
        while key in taken:
            number += 1
            key = f"{entry.key}-{number}"
        taken.add(key)
        found.append(entry._replace(key=key))
    return found


def _entry(source: Source, made: datetime) -> BibliographyEntry:
    address = one_line(source.address)
    doi = _DOI.search(address) if is_web(address) and _DOI_ADDRESS.search(address) else None
    arxiv = _ARXIV.match(address)
    kind: Kind = "page"
    if not is_web(address):
        kind = "file"
    elif arxiv:
        kind = "preprint"
    elif doi:
        kind = "article"
    day = _DAY.match(source.published)
    date = tuple(int(part) for part in day.groups() if part) if day else ()
    authors = tuple(name for name in _AUTHORS.split(one_line(source.author)) if name)
    note = "; ".join(one_line(text) for text in (source.delivered, *source.places) if text)
    title = one_line(source.title)
    return BibliographyEntry(
        key=_key(title, date, source.document),
        kind=kind,
        title=title,
        authors=authors,
        date=date,
        accessed=() if kind == "file" else (made.year, made.month, made.day),
        address=address,
        doi=doi[0].rstrip(".,;") if doi else "",
        arxiv=arxiv[1] if arxiv else "",
        language=source.language,
        note=note,
    )


def _key(title: str, date: tuple[int, ...], document: str) -> str:
    """Return a key of letters and digits: first words of the title and the year, or the document's id."""
    words = _WORD.findall(normalize("NFKD", title).encode("ascii", "ignore").decode().lower())[:_KEY_WORDS]
    name = "-".join(words) if any(word.isalpha() for word in words) else f"source-{document[:8]}"
    return f"{name}-{date[0]}" if date else name


def _bibtex(entry: BibliographyEntry) -> str:
    # Programs take addresses and DOIs as they stand: only what would end a field is encoded.
    web = quote(entry.address, safe=_IN_ADDRESS) if entry.kind != "file" else ""
    fields = {
        # Braces of its own keep a title's capitals and a name's parts as they are.
        "title": f"{{{_tex(entry.title)}}}",
        "author": " and ".join(f"{{{_tex(name)}}}" for name in entry.authors),
        "year": str(entry.date[0]) if entry.date else "",
        "month": str(entry.date[1]) if len(entry.date) > 1 else "",
        "day": str(entry.date[2]) if len(entry.date) > 2 else "",
        "doi": quote(entry.doi, safe=_IN_ADDRESS),
        "eprint": entry.arxiv,
        "archiveprefix": "arXiv" if entry.arxiv else "",
        "url": web,
        "urldate": "-".join(f"{part:02d}" for part in entry.accessed),
        "howpublished": "" if web else _tex(entry.address),
        "langid": _TEX_LANGUAGES.get(entry.language[:2], ""),
        "note": _tex(entry.note),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{'article' if entry.kind == 'article' else 'misc'}{{{entry.key},\n{lines}}}\n"


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)


def _ris(entry: BibliographyEntry) -> Iterator[str]:
    fields = (
        ("TY", _RIS_KINDS[entry.kind]),
        ("ID", entry.key),
        ("TI", entry.title),
        *(("AU", name) for name in entry.authors),
        ("PY", str(entry.date[0]) if entry.date else ""),
        ("DA", _ris_day(entry.date)),
        ("DO", entry.doi),
        ("L1" if entry.kind == "file" else "UR", entry.address),
        ("Y2", _ris_day(entry.accessed)),
        ("LA", entry.language),
        ("N1", entry.note),
    )
    yield from (f"{name}  - {value}" for name, value in fields if value)
    yield "ER  - "


def _ris_day(date: tuple[int, ...]) -> str:
    """Return a day as year/month/day/, where what is not known stays empty, or all of it."""
    parts = [f"{part:02d}" for part in date]
    return "/".join([*parts, *[""] * (3 - len(parts)), ""]) if date else ""


def _csl(entry: BibliographyEntry) -> JsonObject:
    is_file = entry.kind == "file"
    authors: list[Json] = [{"literal": name} for name in entry.authors]
    return known_only(
        {
            "id": entry.key,
            "type": _CSL_KINDS[entry.kind],
            "title": entry.title,
            "author": authors,
            "issued": _csl_day(entry.date),
            "accessed": _csl_day(entry.accessed),
            "URL": None if is_file else entry.address,
            "archive_location": entry.address if is_file else None,
            "DOI": entry.doi,
            "number": f"arXiv:{entry.arxiv}" if entry.arxiv else None,
            "language": entry.language,
            "note": entry.note,
        }
    )


def _csl_day(date: tuple[int, ...]) -> JsonObject:
    return {"date-parts": [list(date)]} if date else {}


def known_only(fields: JsonObject) -> JsonObject:
    """Return the fields that hold something."""
    return {name: value for name, value in fields.items() if value not in ("", None, [], {})}
