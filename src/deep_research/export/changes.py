"""What lies between two reports, as Markdown and as one page of HTML; changed words are marked side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from deep_research.export.markup import element, packaged, rendered
from deep_research.report.escaping import escape, escape_heading, escape_line, one_line
from deep_research.text.messages.words import Words
from deep_research.verify.changes import ChangeKind, Changes, Claim, Edit, FigureChange, SourceChange, marked

# In the order in which a reader wants to know.
_ORDER: tuple[ChangeKind, ...] = ("changed", "gone", "new", "unchecked", "still")


def summary_of(changes: Changes, words: Words, key: str, **more: str) -> str:
    """Say in a line how many claims there are of each kind, or that nothing has changed."""
    if key == "summary" and not changes.has_changed:
        return words("versions.same", still=len(changes.of("still")))
    counts = {kind: len(changes.of(kind)) for kind in ("still", "changed", "gone", "new")}
    unread = len(changes.of("unchecked"))
    said = [words(f"versions.{key}", **counts, **more), *([words("versions.unread", count=unread)] if unread else [])]
    return " ".join(said)


class _Note(NamedTuple):
    """A line below an item: its pieces, those that changed marked by the tag, stand in the place of {} in its frame."""

    frame: str
    pieces: list[tuple[str, bool]]
    tag: str = ""


class _Item(NamedTuple):
    """A line of the list, and what is said below it."""

    text: str
    notes: tuple[_Note, ...] = ()


class _Part(NamedTuple):
    """A heading with its items; `kind` is a claim's, or names the part."""

    kind: str
    title: str
    items: list[_Item]


@dataclass(frozen=True)
class _Telling:
    """The changes in words, before they are put into a format."""

    changes: Changes
    words: Words

    def head(self) -> list[str]:
        before, after = self.changes.before, self.changes.after
        runs = self.words(
            "versions.runs",
            before=before.run[:8],
            before_at=before.created_at,
            after=after.run[:8],
            after_at=after.created_at,
        )
        title = self.words("versions.title", title=after.title)
        key = "summary" if self.changes.is_update else "compared"
        same = [self.words("versions.nothing")] if key == "compared" and not self.changes.has_changed else []
        return [title, runs, summary_of(self.changes, self.words, key), *same]

    def parts(self) -> Iterator[_Part]:
        *first, still = (self._claims(kind) for kind in _ORDER)
        sources = [self._source(one) for one in self.changes.sources if one.kind != "same"]
        figures = [self._figure(one) for one in self.changes.figures if one.kind != "still"]
        others = (
            _Part("sources", self.words("versions.sources"), sources),
            _Part("figures", self.words("versions.figures"), figures),
        )
        yield from (part for part in (*first, *others, still) if part.items)

    def _claims(self, kind: ChangeKind) -> _Part:
        claims = self.changes.of(kind)
        is_compared = not self.changes.is_update and kind in ("still", "gone", "new")
        title = f"{self.words(f'versions.{kind}_both' if is_compared else f'versions.{kind}')} ({len(claims)})"
        return _Part(kind, title, [self._claim(claim) for claim in claims])

    def _claim(self, claim: Claim) -> _Item:
        notes = [note for edit in claim.edits for note in self._edit(edit)]
        if claim.kind == "gone" and self.changes.is_update:
            is_page = claim.sources[0].startswith(("http://", "https://"))
            key = ("page_gone" if is_page else "file_gone") if claim.reason else "text_gone"
            notes.append(_plain(self.words(f"versions.{key}")))
        if claim.kind == "unchecked":
            notes.append(_plain(self.words("versions.unreachable", reason=claim.reason)))
        if claim.lost:
            notes.append(_plain(self.words("versions.lost", sources=self._listed(claim.lost))))
        if claim.kind != "still":
            notes.append(_plain(self.words("versions.source", sources=self._listed(claim.sources))))
        return _Item(claim.before or claim.after, tuple(notes))

    def _edit(self, edit: Edit) -> list[_Note]:
        if edit.before and edit.after:
            before, after = marked(one_line(edit.before), one_line(edit.after))
            return [self._note("before", before, "del"), self._note("after", after, "ins")]
        key, text = ("removed", edit.before) if edit.before else ("added", edit.after)
        return [self._note(key, [(one_line(text), False)])]

    def _note(self, key: str, pieces: list[tuple[str, bool]], tag: str = "") -> _Note:
        return _Note(self.words(f"versions.{key}", text="{}"), pieces, tag)

    def _source(self, source: SourceChange) -> _Item:
        known = {edit for claim in self.changes.claims for edit in claim.edits}
        # A document that was written anew is not listed sentence by sentence.
        notes = [note for edit in source.edits if edit not in known for note in self._edit(edit)]
        if source.kind == "unchecked":
            notes.append(_plain(source.reason))
        what, address = self.words(f"versions.{source.kind}"), " → ".join(filter(None, (source.was, source.address)))
        line = self.words("versions.source_line", what=what, title=source.title, address=address)
        return _Item(line, tuple(notes))

    def _figure(self, figure: FigureChange) -> _Item:
        values = (
            self.words("versions.value", label=label, before=before or "–", after=after or "–")
            for label, before, after in figure.values
        )
        line = f"{self.words(f'versions.{figure.kind}')}{self.words('report.colon')}{figure.title}"
        return _Item(line, tuple(map(_plain, values)))

    def _listed(self, addresses: tuple[str, ...]) -> str:
        return self.words.listed(addresses)


def _plain(text: str) -> _Note:
    return _Note("{}", [(one_line(text), False)])


def changes_as_markdown(changes: Changes, words: Words) -> str:
    """Return the changes as Markdown: the summary first, what still holds last."""
    telling = _Telling(changes, words)
    title, *lines = telling.head()
    blocks = [f"# {escape_heading(title)}", *map(escape_line, lines)]
    for part in telling.parts():
        items = []
        for item in part.items:
            notes = [f"  - {_note_line(note)}" for note in item.notes]
            items.append("\n".join((f"- {escape_line(item.text)}", *notes)))
        blocks += [f"## {escape_heading(part.title)}", "\n".join(items)]
    return "\n\n".join(blocks) + "\n"


def _note_line(note: _Note) -> str:
    before, _, after = note.frame.partition("{}")
    return f"{_escaped(before)}{_bold(note.pieces)}{_escaped(after)}"


def _bold(pieces: list[tuple[str, bool]]) -> str:
    shown = []
    for text, is_changed in pieces:
        bare = text.strip()
        # The signs of bold type stand at words, not at blanks.
        shown.append(text.replace(bare, f"**{escape(bare)}**") if is_changed and bare else _escaped(text))
    return "".join(shown).strip()


def _escaped(text: str) -> str:
    """Escape a piece of a line; the blanks at its ends belong to the line."""
    bare = text.strip()
    return text.replace(bare, escape(bare)) if bare else text


def changes_as_html(changes: Changes, words: Words) -> str:
    """Return the changes as one page that loads nothing and runs nothing."""
    return rendered(
        "changes.html",
        title=one_line(words("versions.title", title=changes.after.title)),
        style=packaged("changes.css"),
        body=changes_in_html(changes, words),
        words=words,
    )


def changes_in_html(changes: Changes, words: Words) -> Markup:
    """Return the changes in HTML, for a page that they stand in."""
    telling = _Telling(changes, words)
    title, *lines = map(one_line, telling.head())
    return element("changes", title, lines, telling.parts())
