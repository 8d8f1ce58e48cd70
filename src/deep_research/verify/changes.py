"""What has become of a report: its claims held against new texts of their sources, or against another report.

A text is compared by its sentences and rows, in words: how lines are wrapped, in which order paragraphs stand and which
quotation marks are used changes nothing. A source that cannot be read any more says nothing against a claim.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, cached_property
from typing import Literal, NamedTuple

from deep_research.report.citation import Source
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.figure import Figure
from deep_research.report.paragraph import Sentence, Strings
from deep_research.value import Value
from deep_research.verify.quote import QuoteToken, sentences_in, tokens_of, words_of

# `unchecked` is what nobody could look up now.
ChangeKind = Literal["still", "changed", "gone", "new", "unchecked"]
SourceKind = Literal["same", "changed", "gone", "renamed", "new", "unchecked"]
# Two sentences are versions of one where they share this much of their words.
_ALIKE = 0.5
# A text is another's under a new name where it holds this much of it.
_RENAMED_SHARE = 0.5
# What is replaced stands near: a document that was written anew is not compared each sentence with each.
_NEAR = 100
_GLUE = "\x00"
_MARKS = frozenset("-*+•·–—")


class Edit(Value):
    """A stretch of a source before and after; one of the two is empty where it was added or removed."""

    before: str = ""
    after: str = ""


class Claim(Value):
    """A sentence of a report and what became of it.

    `edits` are what changed in its passages; `reason` says why a source could not be read, "" where it is its text that
    is gone; `lost` are the addresses that no longer say what others still do.
    """

    kind: ChangeKind
    before: str = ""
    after: str = ""
    section: str = ""
    sources: Strings = ()
    edits: tuple[Edit, ...] = ()
    reason: str = ""
    lost: Strings = ()


class SourceChange(Value):
    """A source and what became of it; `was` is its former address, where it has another now."""

    kind: SourceKind
    title: str
    address: str
    was: str = ""
    reason: str = ""
    edits: tuple[Edit, ...] = ()


class FigureChange(Value):
    """A figure that only one of two reports has, or whose values differ: label, value before, value after."""

    kind: ChangeKind
    title: str
    values: tuple[tuple[str, str, str], ...] = ()


class Version(Value):
    """Which report is compared."""

    run: str
    title: str
    created_at: str


class Changes(Value):
    """All that lies between two reports; `is_update` where the claims of the first were looked up in new texts."""

    before: Version
    after: Version
    is_update: bool = False
    claims: tuple[Claim, ...] = ()
    sources: tuple[SourceChange, ...] = ()
    figures: tuple[FigureChange, ...] = ()

    @property
    def has_changed(self) -> bool:
        """Whether anything is known to differ, or could not be looked up."""
        parts = ((self.claims, "still"), (self.sources, "same"), (self.figures, "still"))
        return any(each.kind != kind for changes, kind in parts for each in changes)

    def of(self, kind: ChangeKind) -> list[Claim]:
        """Return the claims that something has become of."""
        return [claim for claim in self.claims if claim.kind == kind]


class NewText(NamedTuple):
    """What a source's address leads to now: its text, or why there is none; `is_gone` if that is for good."""

    text: str = ""
    reason: str = ""
    is_gone: bool = False


@dataclass(frozen=True)
class Units:
    """A text as its sentences and rows, each known by its words and by its place among all words of the text."""

    text: str

    @cached_property
    def tokens(self) -> list[QuoteToken]:
        return tokens_of(self.text)

    @cached_property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens]

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """Return the first token of each unit and the one after its last."""
        found, tokens = [], self.tokens
        for first, last in sentences_in(self.text, tokens):
            # The mark of a list item is none of its words.
            while first + 1 < last and tokens[first].text in _MARKS and tokens[first].end < tokens[first + 1].start:
                first += 1
            if any(word[0].isalnum() for word in self.words[first:last]):
                found.append((first, last))
        return found

    def key(self, first: int, last: int) -> str:
        """Return the words of a stretch as one string."""
        return _GLUE.join(("", *self.words[first:last], ""))

    @cached_property
    def keys(self) -> list[str]:
        return [self.key(*bounds) for bounds in self.bounds]

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset(self.keys)

    @cached_property
    def _whole(self) -> str:
        return self.key(0, len(self.words))

    def find(self, key: str) -> tuple[int, int] | None:
        """Return where the text holds these words as whole units, several or one."""
        firsts, lasts = self._edges
        at = self._whole.find(key)
        while at >= 0:
            first = self._whole.count(_GLUE, 0, at)
            last = first + key.count(_GLUE) - 1
            if first in firsts and last in lasts:
                return first, last
            at = self._whole.find(key, at + 1)
        return None

    @cached_property
    def _edges(self) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(first for first, _ in self.bounds), frozenset(last for _, last in self.bounds)

    def missing_in(self, other: "Units") -> dict[int, str]:
        """Return the units that another text does not hold; a line break may part there what is joined here."""
        missing = {
            number: key for number, key in enumerate(self.keys) if key not in other.known and other.find(key) is None
        }
        covered: set[int] = set()
        for key in dict.fromkeys(other.keys) if missing else ():
            if key not in self.known and (found := self.find(key)):
                covered.update(range(*found))
        return {number: key for number, key in missing.items() if not covered.issuperset(range(*self.bounds[number]))}

    def between(self, start: int, end: int) -> list[int]:
        """Return the numbers of the units that a stretch of the text touches."""
        return [
            number
            for number, (first, last) in enumerate(self.bounds)
            if self.tokens[first].start < end and start < self.tokens[last - 1].end
        ]

    def shown(self, number: int) -> str:
        """Return a unit as it reads."""
        first, last = self.bounds[number]
        return " ".join(self.text[self.tokens[first].start : self.tokens[last - 1].end].split())


@dataclass(frozen=True)
class Comparison:
    """Two versions of one text: which units stayed, which took whose place, which went and which came."""

    old: Units
    new: Units

    @cached_property
    def gone(self) -> dict[int, str]:
        """Return the old units that are no longer there, by number."""
        return self.old.missing_in(self.new)

    @cached_property
    def come(self) -> dict[int, str]:
        """Return the new units that were not there before, by number."""
        return self.new.missing_in(self.old)

    @cached_property
    def replaced(self) -> dict[int, int]:
        """Return the old units that were changed, each with its new version."""
        return _paired(self.gone, self.come)

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """Return all that differs, in the order of the old text and then of what came."""
        taken = set(self.replaced.values())
        come = (Edit(after=self.new.shown(number)) for number in self.come if number not in taken)
        return (*map(self._edit, self.gone), *come)

    def _edit(self, number: int) -> Edit:
        index = self.replaced.get(number)
        return Edit(before=self.old.shown(number), after="" if index is None else self.new.shown(index))

    def edits_of(self, passage: CitedPassage, start: int, end: int) -> tuple[list[Edit], bool]:
        """Return what changed in a stretch of the old text, with the header row above it, and whether all is gone."""
        own = self.old.between(start, end)
        header = _GLUE.join(("", *words_of(passage.header), ""))
        above = [number for number, key in enumerate(self.old.keys) if passage.header and key == header][:1]
        lost = [number for number in (*above, *own) if number in self.gone]
        edits = [self._edit(number) for number in lost]
        return edits, bool(own) and all(number in lost and number not in self.replaced for number in own)


def _paired(gone: Mapping[int, str], come: Mapping[int, str]) -> dict[int, int]:
    """Pair what went with what came, by number, by how alike they are, the most alike first."""
    fresh = [(number, _telling(key)) for number, key in come.items()]
    alike = []
    for at, (left, key) in enumerate(gone.items()):
        own, near = _telling(key), round(at * len(come) / len(gone))
        for right, words in fresh[max(0, near - _NEAR) : near + _NEAR + 1]:
            if (share := likeness(own, words)) >= _ALIKE:
                alike.append((-share, left, right))
    pairs = {}
    taken = set()
    for _, left, right in sorted(alike):
        if left not in pairs and right not in taken:
            pairs[left] = right
            taken.add(right)
    return pairs


def _telling(key: str) -> list[str]:
    """Return the words of a unit without its signs: the bars of two rows make them no more alike."""
    return [word for word in key.split(_GLUE) if word and word[0].isalnum()]


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Return how much two runs of words share, in order, from 0 to 1."""
    if not one or not other or min(len(one), len(other)) * 2 < _ALIKE * (len(one) + len(other)):
        return 0.0
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0


def marked(before: str, after: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return two versions of a text in pieces, each with whether it is what changed."""
    left, right = tokens_of(before), tokens_of(after)
    matcher = SequenceMatcher(None, [token.text for token in left], [token.text for token in right], autojunk=False)
    pieces: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for tag, *edges in matcher.get_opcodes():
        for own, text, tokens, (first, last) in (
            (pieces[0], before, left, edges[:2]),
            (pieces[1], after, right, edges[2:]),
        ):
            if first < last:
                end, following = tokens[last - 1].end, tokens[last].start if last < len(tokens) else len(text)
                own += [(text[tokens[first].start : end], tag != "equal"), (text[end:following], False)]
    return pieces


@dataclass
class _Update:
    """The claims of a report on their way through the new texts of its sources."""

    old: Edition
    old_texts: Mapping[str, str]
    now: Mapping[str, NewText]
    new: Edition
    new_texts: Mapping[str, str]
    units: Callable[[str], Units] = field(default_factory=lambda: cache(Units))

    @cached_property
    def followed(self) -> dict[str, tuple[str, NewText]]:
        """Return for each old document where it is now and what it says; a file may have another name."""
        addresses = {source.address for source in self.old.citations.sources}
        added = [source for source in self.new.citations.sources if source.address not in addresses]
        found = {}
        taken = set()
        for source in self.old.citations.sources:
            now = self.now.get(source.address, NewText())
            if now.is_gone and (
                successor := self._successor(source, [one for one in added if one.address not in taken])
            ):
                taken.add(successor.address)
                found[source.document] = successor.address, NewText(self.new_texts[successor.document])
            else:
                found[source.document] = source.address, now
        return found

    def _successor(self, source: Source, added: Sequence[Source]) -> Source | None:
        old = self.units(self.old_texts[source.document])
        best, most = None, _RENAMED_SHARE
        for one in added:
            missing = old.missing_in(self.units(self.new_texts[one.document]))
            share = 1 - len(missing) / len(old.keys) if old.keys else 0.0
            if share > most or (share == most == 1.0 and not best):
                best, most = one, share
        return best

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """Return the versions of each old document that there is a new text of."""
        return {
            document: Comparison(self.units(self.old_texts[document]), self.units(now.text))
            for document, (_, now) in self.followed.items()
            if not now.reason
        }

    def claims(self) -> list[Claim]:
        found = [self._rechecked(section, sentence) for section, sentence in claims_of(self.old)]
        new_texts = {edit.after for claim in found for edit in claim.edits if edit.after}
        return [*found, *self._new(new_texts)]

    def _rechecked(self, section: str, sentence: Sentence) -> Claim:
        edits: list[Edit] = []
        lost: dict[str, str] = {}
        unread: dict[str, str] = {}
        is_stated, addresses = False, []
        passages = [self.old.passage[id_] for id_ in sentence.evidence]
        # A header row is looked at with the row that names it, and says nothing alone.
        headers = {passage.header for passage in passages}
        for passage in [one for one in passages if one.quote not in headers] or passages:
            address, now = self.followed[passage.document]
            addresses.append(address)
            if now.reason:
                (lost if now.is_gone else unread)[address] = now.reason
                continue
            start, end = _relied_on(sentence, passage)
            changed, is_lost = self.comparisons[passage.document].edits_of(passage, start, end)
            if is_lost:
                lost[address] = ""
                edits += [Edit(before=edit.before) for edit in changed]
            else:
                edits += changed
                is_stated = True
        kind: ChangeKind = "still"
        if any(edit.after for edit in edits) or (is_stated and edits):
            kind = "changed"
        elif lost and not is_stated:
            kind = "gone"
        elif unread and not is_stated:
            kind = "unchecked"
        reasons = {"gone": lost, "unchecked": unread}.get(kind, {}).values()
        return Claim(
            kind=kind,
            before=sentence.text,
            section=section,
            sources=tuple(dict.fromkeys(addresses)),
            edits=tuple(dict.fromkeys(edits)),
            reason=next(filter(None, reasons), ""),
            lost=tuple(lost) if kind == "still" else (),
        )

    def _new(self, new_texts: set[str]) -> Iterator[Claim]:
        """Yield what the new report says from text that the earlier run had not read."""
        before = {self.followed[document][0]: comparison for document, comparison in self.comparisons.items()}
        address_of = {source.document: source.address for source in self.new.citations.sources}
        said = {words_of(sentence.text) for _, sentence in claims_of(self.old)}
        for section, sentence in claims_of(self.new):
            if words_of(sentence.text) in said:
                continue
            fresh, addresses = [], []
            for id_ in sentence.evidence:
                passage = self.new.passage[id_]
                address = address_of[passage.document]
                addresses.append(address)
                units = self.units(self.new_texts[passage.document])
                own = units.between(*_relied_on(sentence, passage))
                come = before[address].come if address in before else self._known_nowhere(units)
                fresh += [units.shown(number) for number in own if number in come]
            if set(fresh) - new_texts:
                yield Claim(kind="new", after=sentence.text, section=section, sources=tuple(dict.fromkeys(addresses)))

    def _known_nowhere(self, units: Units) -> set[int]:
        """Return the units of a document that is new which no old one held."""
        missing = (units.missing_in(self.units(text)) for text in self.old_texts.values())
        return set(range(len(units.keys))).intersection(*missing)

    def sources(self) -> list[SourceChange]:
        found, successors = [], set()
        for source in self.old.citations.sources:
            address, now = self.followed[source.document]
            kind: SourceKind = "same"
            edits: tuple[Edit, ...] = ()
            if now.reason:
                kind = "gone" if now.is_gone else "unchecked"
            else:
                edits = self.comparisons[source.document].edits
                kind = "renamed" if address != source.address else "changed" if edits else "same"
            successors.add(address)
            was = source.address if address != source.address else ""
            found.append(
                SourceChange(kind=kind, title=source.title, address=address, was=was, reason=now.reason, edits=edits)
            )
        old = {source.address for source in self.old.citations.sources}
        # What was read in passing need not be new; it is only what the earlier run had no use for.
        fresh = [source for source in self.new.citations.cited if source.address not in successors | old]
        found += [SourceChange(kind="new", title=source.title, address=source.address) for source in fresh]
        return found


def _relied_on(sentence: Sentence, passage: CitedPassage) -> tuple[int, int]:
    """Return the stretch of a document that carries a sentence: what its check found, else the whole passage."""
    verdict = sentence.verdict
    if verdict and verdict.evidence == passage.id and 0 <= verdict.start < verdict.end:
        return verdict.start, verdict.end
    return passage.start, passage.end


def claims_of(edition: Edition) -> list[tuple[str, Sentence]]:
    """Return each sentence of a report that rests on evidence, once, with its section."""
    found: dict[Strings, tuple[str, Sentence]] = {}
    for paragraph in edition.report.paragraphs:
        if paragraph.kind in ("claim", "table"):
            for sentence in paragraph.sentences:
                if sentence.evidence:
                    found.setdefault(words_of(sentence.text), (paragraph.section, sentence))
    return list(found.values())


def version_of(edition: Edition) -> Version:
    """Return which report this is."""
    return Version(run=edition.run, title=edition.report.title, created_at=f"{edition.created_at:%Y-%m-%d %H:%M}")


def compare_with_sources(
    old: Edition, old_texts: Mapping[str, str], now: Mapping[str, NewText], new: Edition, new_texts: Mapping[str, str]
) -> Changes:
    """Look the claims of a report up in what its sources say now; name what a newer report has from new text.

    `old_texts` and `new_texts` are by document, `now` is by the address of the old report's sources.
    """
    update = _Update(old, old_texts, now, new, new_texts)
    return _changes(old, new, update.claims(), update.sources(), is_update=True)


def compare_reports(old: Edition, new: Edition) -> Changes:
    """Compare two reports as they stand: sentences by their words, sources by address, figures by title."""
    before, after = claims_of(old), claims_of(new)
    same = {words_of(sentence.text) for _, sentence in before} & {words_of(sentence.text) for _, sentence in after}
    gone, come = (
        {number: _key(sentence) for number, (_, sentence) in enumerate(claims) if words_of(sentence.text) not in same}
        for claims in (before, after)
    )
    pairs = _paired(gone, come)
    claims = []
    for number, (section, sentence) in enumerate(before):
        kind: ChangeKind = "changed" if number in pairs else "gone" if number in gone else "still"
        now = after[pairs[number]][1].text if number in pairs else ""
        edits = (Edit(before=sentence.text, after=now),) if now else ()
        cited = _addresses(old, sentence)
        claims.append(Claim(kind=kind, before=sentence.text, after=now, section=section, sources=cited, edits=edits))
    for number in come:
        if number not in pairs.values():
            section, sentence = after[number]
            cited = _addresses(new, sentence)
            claims.append(Claim(kind="new", after=sentence.text, section=section, sources=cited))
    return _changes(old, new, claims, _source_changes(old, new), is_update=False)


def _changes(
    old: Edition, new: Edition, claims: Iterable[Claim], sources: Iterable[SourceChange], *, is_update: bool
) -> Changes:
    return Changes(
        before=version_of(old),
        after=version_of(new),
        is_update=is_update,
        claims=tuple(claims),
        sources=tuple(sources),
        figures=tuple(_figures(old, new)),
    )


def _key(sentence: Sentence) -> str:
    """Return what a sentence is compared by; the labels of two rows make them no more alike."""
    text = " ".join(value for _, value in sentence.cells) or sentence.text
    return _GLUE.join(words_of(text))


def _addresses(edition: Edition, sentence: Sentence) -> Strings:
    address_of = {source.document: source.address for source in edition.citations.cited}
    return tuple(dict.fromkeys(address_of[edition.passage[id_].document] for id_ in sentence.evidence))


def _source_changes(old: Edition, new: Edition) -> Iterator[SourceChange]:
    before = {source.address: source for source in old.citations.cited}
    after = {source.address: source for source in new.citations.cited}
    for address, source in before.items():
        now = after.get(address)
        kind: SourceKind = "gone" if not now else "same" if now.document == source.document else "changed"
        yield SourceChange(kind=kind, title=source.title, address=address)
    for address, source in after.items():
        if address not in before:
            yield SourceChange(kind="new", title=source.title, address=address)


def _figures(old: Edition, new: Edition) -> Iterator[FigureChange]:
    before, after = ({caption.figure.title: caption.figure for caption in each.captions} for each in (old, new))
    for title in dict.fromkeys((*before, *after)):
        if title not in after:
            yield FigureChange(kind="gone", title=title)
        elif title not in before:
            yield FigureChange(kind="new", title=title)
        else:
            was, now = _values(before[title]), _values(after[title])
            pairs = ((label, was.get(label, ""), now.get(label, "")) for label in was | now)
            differing = tuple(pair for pair in pairs if pair[1] != pair[2])
            yield FigureChange(kind="changed" if differing else "still", title=title, values=differing)


def _values(figure: Figure) -> dict[str, str]:
    return {f"{row.series} {row.label}".strip(): f"{row.value:g}" for row in figure.rows}
