"""Reading a report that a model wrote: sections of paragraphs, lists and tables; each sentence with its mark.

A mark says what a sentence is and rests on: `[E2, E5]` is a finding of these passages, `[so: E2, E5]` a conclusion from
them, `[calc: 40 / 8 = 5; E2]` a calculation, `[none: words; E2]` the statement that no source holds something. A
sentence without a mark only leads over.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from deep_research.reasoning.model.prompting import LABEL, TAGS
from deep_research.report.paragraph import ListMark, Paragraph, Sentence, SentenceKind, Strings, row
from deep_research.request import Language
from deep_research.text.analyzer import CJK_CHARACTER
from deep_research.text.cleaning import BLANKS_BEFORE_STOP, clean_text
from deep_research.text.markdown import blocks_of
from deep_research.text.messages.language import UNKNOWN
from deep_research.text.script import DETECTED, detect_language, in_script
from deep_research.text.sentences import split_sentences
from deep_research.verify.particulars import dates_of, figures_of
from deep_research.verify.references import find_references

_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\n]{0,1000}\)")
_FENCE = re.compile(r"(?m)^\s*(?:`{3,}|~{3,}).*$")
# A model that does not stop may write white space to no end, which patterns here and elsewhere would go over again and
# again.
_BLANK_LINES = re.compile(r"\n\s*\n")
_WIDE_GAP = re.compile(r"[^\S\n]{2,}")


def without_markup(text: str, mark: re.Pattern[str] | None = None) -> str:
    """Return a text without fences, and links and images as their words; a `mark` stays as it is."""
    spaced = _WIDE_GAP.sub(" ", _BLANK_LINES.sub("\n\n", clean_text(text)))

    def words(link: re.Match[str]) -> str:
        is_mark = mark and mark.fullmatch(f"[{link[1]}]")
        return f"[{link[1]}]" if is_mark else link[1]

    return _LINK.sub(words, _FENCE.sub("", spaced))


# Each blank belongs to one part of the pattern only: a list that is never closed would match in too many ways.
_WORDS = r"(?:(?:sources?|passages?|来源|來源|资料|資料)\s*)?"
_NUMBER = rf"(?:{LABEL}\s*)?\d{{1,4}}"
_ONE = rf"{_WORDS}{_NUMBER}(?:\s*[-–—]\s*{_NUMBER})?"
_MARK = re.compile(rf"(?i)[\[【［]\s*((?=[^\]】］]{{0,400}}{LABEL}\s*\d){_ONE}(?:\s*[,;，、；&]\s*{_ONE})*)\s*[\]】］]")
# Round brackets hold much else: "(E10)" is a fuel where no E10 was given.
_ROUND_MARK = re.compile(rf"(?i)[(（]\s*({LABEL}\s*\d{{1,4}}(?:\s*[,;，、；&]\s*{LABEL}\s*\d{{1,4}})*)\s*[)）]")
_BARE_MARK = re.compile(r"\[\s*(\d{1,3}(?:\s*[,;，、]\s*\d{1,3})*)\s*\]")
_RANGE = re.compile(rf"(?i)(\d{{1,4}})(?:\s*[-–—]\s*(?:{LABEL}\s*)?(\d{{1,4}}))?")
# A range of more than this names nothing in particular.
_MAX_IN_RANGE = 12
_TYPED_MARK = re.compile(r"(?i)[\[【［]\s*(so|calc|none)\s*[:：]\s*([^\]】］]{1,400})[\]】］]")
_TYPED_KINDS: dict[str, SentenceKind] = {"so": "conclusion", "calc": "calculation", "none": "absence"}
_LABELS = re.compile(rf"(?i)(?<![^\W\d_]){LABEL}\s*\d{{1,4}}(?:\s*[-–—]\s*{LABEL}?\s*\d{{1,4}})?")
_STOP = re.compile(r"[.!?。！？…]+[\"'”’』」)）]*$")
_BOLD_LINE = re.compile(r"\s*\*\*([^*\n]{2,80})\*\*\s*[:：]?\s*$")
_ITEM_LEAD = re.compile(r"\s*\*\*(.{2,160}?)\*\*\s*")
# The point of an item may have a mark and a stop of its own; bold words that the sentence goes on from are no point.
_AFTER_LEAD = re.compile(r"^\s*(?:\[[^\]]{1,200}\]\s*)?(?P<stop>[.。:：!！?？]?)\s*")
_STOPPED = re.compile(r"[.。:：!！?？]\s*$")
_SMALL_WORD = re.compile(r"^[a-z]+\b")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)(.{1,500}?)(?<=\S)\1")
_TABLE_LINE = re.compile(r"\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"[\s|:-]+$")
# The program adds this column itself.
_SOURCES = re.compile(r"(?i)(?:sources?|evidence|来源|來源|出处|出處)$")
_ECHO = re.compile(rf"(?i)</?(?:{'|'.join(TAGS)})\b")
_NO_NAME = re.compile(r"[*_`\[\]【】]|^\d+[.)、]\s*")
_NAME_END = re.compile(r"[.。!！?？:：]+$")
_MAX_NAME_CHARS = 60
# Less text than this shows no language.
_MIN_CHARS = 40
# More sentences than this share without a mark are worth a second try.
_UNMARKED_SHARE = 0.34


class ParsedProse(NamedTuple):
    """What a model wrote, what is wrong with it, if anything, and how many sentences rest on evidence that exists."""

    paragraphs: tuple[Paragraph, ...]
    problem: str
    cited: int


def read_report(
    text: str,
    labels: Mapping[str, str],
    *,
    language: Language,
    abstract: Collection[str] = (),
    titles: Collection[str] = (),
    is_cut: bool = False,
) -> ParsedProse:
    """Return the paragraphs of a report; a mark that stands for no evidence is kept as it is, for the record.

    `labels` maps labels to evidence ids. What stands before the first heading, or under one named in `abstract`, is the
    section `abstract`; one of `titles` is spelled as there. `is_cut` says that the text ended at a limit: its last
    sentence is dropped where it has no end.
    """
    plain = _squared(text, labels, language)
    marks = _Marks(labels, _MARK if _MARK.search(plain) or _TYPED_MARK.search(plain) else _BARE_MARK)
    names = {_plain_name(title, language).casefold(): title for title in titles}
    names |= dict.fromkeys((name.casefold() for name in abstract), "abstract")
    paragraphs = list(_paragraphs(plain, marks, names, language))
    if is_cut and paragraphs:
        last = paragraphs.pop()
        sentences = last.sentences if _STOP.search(last.sentences[-1].text) else last.sentences[:-1]
        paragraphs += [last.replace(sentences=sentences)] if sentences else []
    known = set(labels.values())
    cited = sum(not known.isdisjoint(sentence.evidence) for paragraph in paragraphs for sentence in paragraph.sentences)
    return ParsedProse(tuple(paragraphs), _problem(text, paragraphs, len(labels), cited, language), cited)


def read_sentences(text: str, labels: Mapping[str, str], language: Language) -> list[Sentence]:
    """Return the sentences of one line of text."""
    plain = _EMPHASIS.sub(r"\2", _squared(text, labels, language))
    return _Marks(labels, _MARK).sentences(plain)


def read_row(text: str, names: Sequence[str], labels: Mapping[str, str], language: Language) -> list[Sentence]:
    """Return the row of a table that was handed back as a line of cells, under the names of its columns."""
    head = f"| {' | '.join(names)} |"
    lines = [head, *_squared(text, labels, language).split("\n")]
    return _rows([line for line in lines if _TABLE_LINE.match(line)], _Marks(labels, _MARK))


def _paragraphs(text: str, marks: "_Marks", names: Mapping[str, str], language: Language) -> Iterator[Paragraph]:
    section, lead = "abstract", ""
    for block in blocks_of(text):
        if block.kind == "heading":
            title = _plain_name(block.text, language)
            if len(block.mark) > 2:
                lead = _name_of(title)
            elif len(block.mark) == 2 and title:
                section, lead = names.get(title.casefold(), title), ""
            continue
        lines = block.text.split("\n")
        if block.kind == "table":
            if rows := _rows(lines, marks):
                yield Paragraph(section=section, kind="table", lead=lead, mark="table", sentences=tuple(rows))
            continue
        while lines and (bold := _BOLD_LINE.match(lines[0])) and block.kind == "prose":
            lead = _name_of(_plain_name(bold[1], language))
            lines = lines[1:]
        line, own = " ".join(" ".join(lines).split()), lead
        mark: ListMark = "" if not block.mark else "number" if block.mark[0].isdigit() else "bullet"
        bold = _ITEM_LEAD.match(line)
        name = _plain_name(bold[1], language) if bold and bold.end() < len(line) else ""
        rest = line[bold.end() :] if bold else ""
        after = _AFTER_LEAD.match(rest)
        first = rest[after.end() :][:1] if after else ""
        # Chinese sets no space inside a sentence.
        is_apart = first.isupper() or (bold and bold[0][-1].isspace() and CJK_CHARACTER.match(first))
        is_point = after and (after["stop"] or (bold and _STOPPED.search(bold[1])) or is_apart)
        if is_point and after and (name if mark else _name_of(name)):
            own, line = name, _SMALL_WORD.sub(lambda word: word[0].capitalize(), rest[after.end() :])
        elif mark:
            own = ""
        if sentences := marks.sentences(_EMPHASIS.sub(r"\2", line)):
            yield Paragraph(section=section, lead=own, mark=mark, sentences=tuple(sentences))


def _rows(lines: list[str], marks: "_Marks") -> list[Sentence]:
    """Return the rows of a table under its head, each with the marks of all its cells."""
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    head, *rows = [line for line in cells if not all(_TABLE_RULE.match(cell) or not cell for cell in line)] or [[]]
    names = [marks.bare(_EMPHASIS.sub(r"\2", name)) for name in head]
    if names and _SOURCES.match(names[-1]):
        names.pop()
    found = []
    for row_cells in rows:
        texts = [_EMPHASIS.sub(r"\2", cell) for cell in row_cells]
        kind, ids, basis = marks.found_in(" ".join(texts))
        pairs = [(name, marks.bare(cell)) for name, cell in zip(names, texts, strict=False)]
        filled = tuple((name, cell) for name, cell in pairs if cell)
        if len(filled) > 1:
            found.append(row(filled, ids).replace(kind=kind, basis=basis))
    return found


def _plain_name(text: str, language: Language) -> str:
    """Return the words of a heading or a lead without marks and markup."""
    bare = _MARK.sub("", _TYPED_MARK.sub("", text))
    return _NAME_END.sub("", " ".join(_NO_NAME.sub("", without_markup(in_script(bare, language))).split()))


def _name_of(plain: str) -> str:
    """Return a small heading, or "" where it is none: a whole sentence, or one with a figure or a date."""
    is_sentence = len(plain) > _MAX_NAME_CHARS or re.search(r"[.。!！?？]", plain)
    return "" if is_sentence or figures_of(plain) or dates_of(plain) or find_references(plain) else plain


def is_in_language(text: str, language: Language) -> bool:
    """Return whether a text is written in a language, as far as its length shows; scripts of Chinese count as one."""
    if len(text) < _MIN_CHARS or language == UNKNOWN:
        return True
    found, wanted = detect_language(text)[:2], language[:2]
    # What nobody can tell is only not what is well known.
    return found == wanted or (wanted not in DETECTED and found not in ("en", "zh"))


def _squared(text: str, labels: Mapping[str, str], language: Language) -> str:
    """Return a text without markup; its marks in round brackets are square where all name something that was given."""

    def squared(match: re.Match[str]) -> str:
        is_known = all(f"{LABEL}{number}" in labels for number in _numbers(match[1]))
        return f"[{match[1]}]" if is_known else match[0]

    return _ROUND_MARK.sub(squared, in_script(without_markup(text, _MARK), language))


def _numbers(mark: str) -> list[int]:
    """Return the numbers that a mark names, ranges spelled out."""
    found: list[int] = []
    for first, last in _RANGE.findall(mark):
        numbers = range(int(first), int(last or first) + 1)
        found += numbers if 0 < len(numbers) <= _MAX_IN_RANGE else [int(first)]
    return found


class _Marks(NamedTuple):
    """How marks are read: `labels` maps what they name to evidence ids; `plain` matches those without a kind."""

    labels: Mapping[str, str]
    plain: re.Pattern[str]

    def found_in(self, text: str) -> tuple[SentenceKind, Strings, str]:
        """Return what the marks of a sentence make it, the evidence that they name, and what it computes or misses."""
        numbers = [number for match in self.plain.finditer(text) for number in _numbers(match[1])]
        kind: SentenceKind = "finding" if numbers else "link"
        basis = ""
        for match in _TYPED_MARK.finditer(text):
            kind = _TYPED_KINDS[match[1].lower()]
            named = list(_LABELS.finditer(match[2]))
            numbers += [number for label in named for number in _numbers(label[0])]
            if kind != "conclusion":
                basis = (match[2][: named[0].start()] if named else match[2]).strip(" ;；,，")
        ids = dict.fromkeys(self.labels.get(f"{LABEL}{number}", f"{LABEL}{number}") for number in numbers)
        return kind, tuple(ids), basis

    def bare(self, text: str, fill: str = "") -> str:
        """Return a text without its marks, or with as many of another sign in their place."""
        for pattern in (_TYPED_MARK, self.plain):
            text = pattern.sub(lambda match: fill * len(match[0]), text)
        return text if fill else " ".join(text.split())

    def sentences(self, text: str) -> list[Sentence]:
        """Return a paragraph's sentences; a mark belongs to the sentence it stands in or right after."""
        # Marks become blanks, so that offsets stay and "[E1]." ends its sentence.
        bare = self.bare(text, fill=" ")
        spans = split_sentences(bare)
        found = []
        for number, (start, end) in enumerate(spans):
            until = spans[number + 1][0] if number + 1 < len(spans) else len(text)
            sentence = BLANKS_BEFORE_STOP.sub("", " ".join(bare[start:end].split()))
            if re.search(r"\w", sentence):
                kind, ids, basis = self.found_in(text[start:until])
                found.append(Sentence(text=sentence, kind=kind, evidence=ids, basis=basis))
        return found


def _problem(text: str, paragraphs: list[Paragraph], labels: int, cited: int, language: Language) -> str:
    """Return what is wrong with an answer in prose, in words that a model can mend it by; "" if nothing is."""
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph.sentences]
    if not sentences:
        return "it holds no sentence"
    if _ECHO.search(text):
        return "it repeats the prompt's marks; write your own sentences"
    if not is_in_language(" ".join(sentence.text for sentence in sentences), language):
        return "it is in the wrong language"
    unmarked = [sentence for sentence in sentences if sentence.kind == "link"]
    if len(unmarked) > _UNMARKED_SHARE * len(sentences):
        return f"{len(unmarked)} of {len(sentences)} sentences carry no mark such as [{LABEL}1]; each needs its own"
    if not cited:
        return f"its marks name no source that was given; use {LABEL}1 to {LABEL}{labels}"
    return ""
