"""`Verifier`: checks a report's files as they were shipped, without asking anyone."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from deep_research.report.escaping import one_line
from deep_research.report.layout import MAX_MARKERS
from deep_research.report.paragraph import REFUSED, Refusal
from deep_research.request import Language
from deep_research.text.messages.words import Words, words_in
from deep_research.verify.comparison import Differences, compare
from deep_research.verify.references import missing_figure
from deep_research.verify.shipped import (
    Listing,
    ReferenceLine,
    ReportBlock,
    ShippedFigure,
    ShippedReport,
    ShippedSentence,
    ShippedVerdict,
    ends_in_marker,
    letters_of,
    markers,
    read_listing,
    read_report,
    rows_of,
)
from deep_research.verify.verification import CheckedSentence, ParagraphCheck, ReportCheck, Verification


class Verifier:
    """Checks that every marker resolves and every claim is cited; speaks the report's language unless given words."""

    def __init__(self, words: Words | None = None) -> None:
        self._language: Language | None = words.language if words else None

    def verify(self, report: Path | str, paragraphs: Path | str, *, dropped: Sequence[Refusal] = ()) -> Verification:
        """Check both files of a run; `dropped` is what verification kept out of the report, and why."""
        shown, listed = self.verify_report(report), self.verify_paragraphs_jsonl(paragraphs)
        ends = shown.paragraph_without_citation_count == 0
        return Verification(
            passed=shown.report_passed and listed.paragraphs_jsonl_cite_ids_passed and ends,
            report_passed=shown.report_passed,
            paragraphs_jsonl_cite_ids_passed=listed.paragraphs_jsonl_cite_ids_passed,
            paragraph_end_citation_passed=ends,
            paragraph_without_citation_count=shown.paragraph_without_citation_count,
            report=shown,
            paragraphs=listed,
            dropped=tuple(refusal.text for refusal in dropped),
            refusals=tuple(dropped),
        )

    def verify_report(self, report_path: Path | str) -> ReportCheck:
        """Check markers, references and that each paragraph of abstract, sections and conclusion ends in a marker.

        A table's rows carry theirs in any cell. What `paragraphs.jsonl` beside it calls a note is exempt, and a
        sentence's own "[3]", which stands there escaped, is no marker. The file must be the report that the files
        beside it describe, sentence by sentence.
        """
        report_path = Path(report_path)
        try:
            text = report_path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            problem = "missing" if isinstance(exc, FileNotFoundError) else "unreadable"
            return ReportCheck(report_passed=False, problem=problem, language=self._language or "en")
        listing = read_listing(report_path.with_name("paragraphs.jsonl"))
        report = read_report(text)
        language = self._language or report.language
        return self._check(report, listing, compare(text, report, listing, words_in(language)), language)

    def verify_paragraphs_jsonl(self, paragraphs_path: Path | str) -> ParagraphCheck:
        """Check that every claim and table row has evidence ids and that `evidence.jsonl` beside it holds them all.

        Of a figure, each value must stand in the passage that its row names, and its files must be there.
        """
        paragraphs_path = Path(paragraphs_path)
        listing = read_listing(paragraphs_path)
        claims = [paragraph for paragraph in listing.paragraphs if paragraph.kind in ("claim", "table")]
        uncited = tuple(
            claim.id
            for claim in claims
            if not claim.cite_ids or (claim.kind == "table" and not all(row.evidence for row in claim.sentences))
        )
        used = {id_ for paragraph in listing.paragraphs for id_ in paragraph.cite_ids}
        used |= {id_ for claim in claims for sentence in claim.sentences for id_ in sentence.evidence}
        unknown = tuple(sorted(used - listing.evidence.keys()))
        checked = [
            _checked(sentence, listing)
            for paragraph in listing.paragraphs
            if paragraph.kind not in ("note", "caption")
            for sentence in paragraph.sentences
            if sentence.kind != "link"
        ]
        figures = [paragraph.figure for paragraph in listing.paragraphs if paragraph.figure]
        unstated = tuple(row for figure in figures for row in _unstated(figure, listing))
        names = [name for figure in figures for name in figure.files]
        no_files = tuple(name for name in names if not (paragraphs_path.parent / name).is_file())
        numbers = {figure.number for figure in figures}
        refused = tuple(each.text for each in checked if each.kind in REFUSED or missing_figure(each.text, numbers))
        kinds = Counter(each.kind for claim in claims for each in claim.sentences)
        return ParagraphCheck(
            paragraphs_jsonl_cite_ids_passed=not (
                unknown or uncited or refused or unstated or no_files or listing.is_missing or listing.broken
            ),
            is_answered=listing.edition is None or listing.edition.report.is_answered,
            problem="missing" if listing.is_missing else "",
            paragraphs=len(listing.paragraphs),
            claims=len(claims),
            uncited_claims=uncited,
            unknown_ids=unknown,
            broken_lines=listing.broken,
            refused=refused,
            figures=len(figures),
            figure_rows=sum(len(figure.rows) for figure in figures),
            unstated_rows=unstated,
            missing_files=no_files,
            kinds=dict(sorted(kinds.items())),
            verdicts=dict(sorted(Counter(sentence.kind for sentence in checked).items())),
            sentences=tuple(checked),
        )

    def _check(
        self, report: ShippedReport, listing: Listing, differences: Differences, language: Language
    ) -> ReportCheck:
        references = report.references
        if report.is_unlisted and not references:
            # What the report does not list itself is looked up beside it.
            wanted = {listing.number_of(id_) for paragraph in listing.paragraphs for id_ in paragraph.cite_ids}
            references = tuple(
                ReferenceLine(number, "cited" if number in wanted else "additional")
                for number in sorted(listing.sources)
            )
            report = report._replace(references=references)
        numbers = {reference.number for reference in references}
        cited = {reference.number for reference in references if reference.part == "cited"}
        # In titles, gaps and assumptions numbers in brackets are the user's words.
        cites = (
            block
            for block in report.blocks
            if block.kind != "heading" and not (block.is_exempt and block.kind == "item")
        )
        shown = [number for block in cites for number in markers(block.text)]
        used = set(shown)
        to_cite = _checked_blocks(report.blocks, listing)
        bare = tuple(block.text for block in to_cite if not ends_in_marker(block.text))
        rows = [row for block in report.blocks if not block.is_exempt for row in rows_of(block)]
        bare_rows = tuple(row for row in rows if not markers(row))
        unresolved = tuple(sorted(used - numbers))
        unused = tuple(sorted(cited - used - _unprinted(listing)))
        misplaced = tuple(sorted(used & numbers - cited))
        is_numbered = report.is_numbered
        is_empty = all(block.kind == "rule" for block in report.blocks)
        sound = is_numbered and not (unresolved or misplaced or unused or report.malformed or is_empty)
        return ReportCheck(
            report_passed=sound and not bare and not bare_rows and not any(differences),
            problem="empty" if is_empty else "",
            checked_paragraphs=len(to_cite),
            paragraph_without_citation_count=len(bare),
            uncited_paragraphs=bare,
            uncited_rows=bare_rows,
            markers=len(shown),
            unresolved_markers=unresolved,
            markers_of_uncited_sources=misplaced,
            references=len(references),
            references_are_numbered=is_numbered,
            malformed_references=report.malformed,
            unused_references=unused,
            foreign=differences.foreign,
            lost=differences.lost,
            language=language,
        )


def _unprinted(listing: Listing) -> set[int | None]:
    """Return the numbers of sentences that rest on more documents than they print."""
    sentences = (sentence for paragraph in listing.paragraphs for sentence in paragraph.sentences)
    numbers = ({listing.number_of(id_) for id_ in sentence.evidence} for sentence in sentences)
    return set[int | None]().union(*(own for own in numbers if len(own) > MAX_MARKERS))


def _checked_blocks(blocks: Sequence[ReportBlock], listing: Listing) -> list[ReportBlock]:
    """Return the blocks that must end in a marker: prose and items where claims are made, and every listed claim."""
    texts = {
        kind: {"".join(one_line(paragraph.text).split()) for paragraph in listing.paragraphs if paragraph.kind == kind}
        for kind in ("claim", "note", "caption")
    }
    free = texts["note"] | texts["caption"]
    return [
        block
        for block in blocks
        if (letters := letters_of(block.text)) in texts["claim"]
        or (block.kind in ("prose", "item") and not block.is_exempt and letters not in free)
    ]


def _unstated(figure: ShippedFigure, listing: Listing) -> list[str]:
    """Return the rows of a figure whose value does not stand in the passage that they name."""
    found = []
    for row in figure.rows:
        piece = listing.evidence.get(row.evidence)
        if not piece or not row.is_stated_in(piece.quote):
            name = " ".join(filter(None, (row.series, row.label)))
            found.append(f"figure {figure.number}: {name}: {row.value:.15g}")
    return found


def _checked(sentence: ShippedSentence, listing: Listing) -> CheckedSentence:
    verdict = sentence.verdict or ShippedVerdict(kind="not_checked")
    numbers = {number for id_ in sentence.evidence if (number := listing.number_of(id_)) is not None}
    piece = listing.evidence.get(verdict.evidence)
    return CheckedSentence(
        **dict(verdict),
        text=sentence.text,
        numbers=tuple(sorted(numbers)),
        place=(piece.place or "") if piece else "",
        revised_from=sentence.revised_from,
    )
