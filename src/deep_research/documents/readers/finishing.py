"""What is done with every reading, whatever its format: it is cleaned, cleared of injection, and its language found."""

from pathlib import PurePath

from deep_research.documents.readers.links import listed_links, written_links
from deep_research.documents.readers.port import Reading, is_no_title, one_line
from deep_research.report.sources.head import written_in
from deep_research.text.cleaning import clean_with_offsets
from deep_research.text.prompt_injection import find_prompt_injection
from deep_research.text.script import detect_language

PROMPT_INJECTION_FOUND = "it holds text that reads like orders to an AI, which is treated as text and never followed"
# What stands first in a file of records says nothing of the file.
_RECORDS = ("cells", "message")
_FACTS = ("title", "author", "published", "canonical", "language")


def finished(reading: Reading, name: str) -> Reading:
    """Return a reading cleaned, with a title, its language, and a warning where it holds orders to an AI."""
    links = (*reading.links, *written_links(reading.text, reading.links))
    reading = cleaned(reading.replace(title=_title(reading) or PurePath(name).stem, links=links))
    if not any(place.kind in _RECORDS for place in reading.places):
        author, day = written_in(reading.text)
        reading = reading.replace(author=reading.author or author, published=reading.published or day)
    has_orders = any(map(find_prompt_injection, (reading.title, reading.text)))
    warnings = (*reading.warnings, PROMPT_INJECTION_FOUND) if has_orders else reading.warnings
    language = reading.language or detect_language(reading.text)
    return reading.replace(language=language, warnings=warnings)


def _title(reading: Reading) -> str:
    """Return the title; the first heading where the title is only a file's name."""
    headings = (place.label for place in reading.places if place.kind == "heading" and place.label)
    return next(headings, reading.title) if is_no_title(reading.title) else reading.title


def cleaned(reading: Reading) -> Reading:
    """Return a reading without control characters and invisible signs, its places moved along with the text."""
    places = reading.places
    offsets = [offset for place in places for offset in (place.start, place.end)]
    labels = [one_line(place.label) for place in places]
    text, moved = clean_with_offsets(reading.text, offsets)
    if moved != offsets or labels != [place.label for place in places]:
        spans = zip(moved[::2], moved[1::2], strict=True)
        places = tuple(
            place.replace(label=label, start=start, end=end)
            for place, label, (start, end) in zip(places, labels, spans, strict=True)
        )
    facts = {fact: one_line(getattr(reading, fact)) for fact in _FACTS}
    warnings = tuple(map(one_line, reading.warnings))
    return reading.replace(text=text, places=places, warnings=warnings, links=listed_links(reading.links), **facts)
