"""Where passages stand in their documents, as whoever writes or judges gets to see it."""

from collections.abc import Sequence

from deep_research.evidence.passage import Evidence
from deep_research.messages.words import words_in
from deep_research.pipeline.records import RunRecords
from deep_research.readers import place_of
from deep_research.reasoning.rules.quoting.units import headings_above
from deep_research.reasoning.values import Context
from deep_research.request import Language

# So much of the text before and after a passage says what it is about.
_NEAR_CHARS = 400


async def contexts_of(evidence: Sequence[Evidence], language: Language, records: RunRecords) -> dict[str, Context]:
    """Return where each piece of evidence stands, by its id."""
    words, addresses = words_in(language), await records.documents()
    found = {}
    for piece in {piece.id: piece for piece in evidence}.values():
        document = await records.document(piece.document)
        place = place_of(document.places, piece.start, piece.end, text=document.text)
        found[piece.id] = Context(
            title=document.title,
            author=document.author,
            opening=document.text[:_NEAR_CHARS],
            place=words(f"place.{place.kind}", label=place.label) if place else "",
            headings=headings_above(document.text, piece.start),
            near=document.text[max(0, piece.start - _NEAR_CHARS) : piece.end + _NEAR_CHARS],
            published=document.published,
            is_page=addresses.get(piece.document, "").startswith(("http://", "https://")),
        )
    return found
