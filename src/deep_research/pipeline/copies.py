"""Copies of one text on several sites are one origin: what they share is cited once, from the one that stands first."""

from collections.abc import Mapping, Sequence

from deep_research.evidence.passage import Evidence
from deep_research.in_thread import in_thread
from deep_research.pipeline.records import RunRecords
from deep_research.sources.origins import OriginText, group_origins
from deep_research.text.folding import to_simplified


async def find_copies(records: RunRecords) -> dict[str, str]:
    """Return each page of the web that repeats another, with the one that it repeats, over all that the run has read.

    Of a user's own documents, the index keeps copies apart already.
    """
    texts: dict[str, OriginText] = {}
    for address, document in (await records.store.list_addresses(records.run)).items():
        if document not in texts and address.startswith(("http://", "https://")):
            read = await records.document(document)
            texts[document] = OriginText(text=read.text, published=read.published, address=address)
    leaders = await in_thread(group_origins, texts) if len(texts) > 1 else {}
    return {copy: original for copy, original in leaders.items() if copy != original}


def without_copies(evidence: Sequence[Evidence], copies: Mapping[str, str]) -> list[Evidence]:
    """Return the evidence without what copies repeat: of one origin each text stays once, the original's own first."""
    if not copies:
        return list(evidence)
    told: dict[str, str] = {}
    kept = set()
    for piece in sorted(evidence, key=lambda piece: piece.document in copies):
        origin, text = copies.get(piece.document, piece.document), _bare(piece.quote)
        if origin == piece.document or text not in told.get(origin, ""):
            told[origin] = f"{told.get(origin, '')}\n{text}"
            kept.add(piece.id)
    return [piece for piece in evidence if piece.id in kept]


def _bare(text: str) -> str:
    return "".join(to_simplified(text).split())
