"""Citation numbers: given once, when the report is rendered, one a source, in order of first use."""

from collections.abc import Iterable, Mapping, Sequence

from deep_research.report.paragraph import Paragraph, Strings
from deep_research.value import Value


class Source(Value):
    """A document as the references name it; `places` are what is cited of it, `warnings` what its reader noticed.

    `delivered` says whose abstract or text it is, where the page itself could not be read, and `byline` who
    wrote it and in which year.
    """

    document: str
    title: str
    address: str
    places: Strings = ()
    language: str = ""
    author: str = ""
    published: str = ""
    warnings: Strings = ()
    delivered: str = ""
    byline: str = ""

    @property
    def aside(self) -> str:
        """Return what stands behind the title in a list of references."""
        return f" ({self.byline})" if self.byline else ""


class Citations(Value):
    """The numbered sources: the cited ones first, then the others.

    The report of a follow-up keeps the numbers of the report before it. `unused` are the documents among the cited ones
    that are cited only there.
    """

    cited: tuple[Source, ...] = ()
    additional: tuple[Source, ...] = ()
    unused: Strings = ()

    def number(self, document: str) -> int:
        """Return the number of a cited document."""
        return [source.document for source in self.cited].index(document) + 1

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return all sources, in the order of their numbers."""
        return (*self.cited, *self.additional)

    @property
    def used(self) -> tuple[Source, ...]:
        """Return the sources that this report cites itself."""
        return tuple(source for source in self.cited if source.document not in self.unused)

    @property
    def share_cited(self) -> int:
        """Return the share of sources that are cited, in per cent."""
        return round(100 * len(self.used) / len(self.sources)) if self.sources else 0


def number_sources(
    paragraphs: Iterable[Paragraph],
    *,
    document_of: Mapping[str, str],
    sources: Sequence[Source],
    earlier: Sequence[Source] = (),
) -> Citations:
    """Number the sources that the paragraphs cite, in order of first use; the rest follow in their own order.

    Those of an `earlier` report come first, as they are numbered there.
    """
    used = dict.fromkeys(document_of[id_] for paragraph in paragraphs for id_ in paragraph.cite_ids)
    known = {source.document: source for source in (*earlier, *sources)}
    before = [source.document for source in earlier]
    numbered = dict.fromkeys((*before, *used))
    return Citations(
        cited=tuple(known[document] for document in numbered),
        additional=tuple(source for source in sources if source.document not in numbered),
        unused=tuple(document for document in before if document not in used),
    )
