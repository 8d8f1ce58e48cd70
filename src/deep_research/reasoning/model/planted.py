"""Statements that are false by our own making: whoever calls one supported cannot judge.

They are sentences of the text itself with a figure, status, actor or the like changed, so that they look like their
neighbours and no two calls get the same; where none can be changed so, sentences of the passages. The same text and
passages give the same statements, so that a run can be replayed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.text.dates import find_dates, find_months
from deep_research.text.sentences import split_sentences
from deep_research.value import digest
from deep_research.verify.particulars import figures_of

_DIGITS, _VERSION = re.compile(r"\d+"), re.compile(r"\d+(?:\.\d+)+")
# Two words that no article and no other name stands before: "Andrew Park". One in capitals may begin anything.
_NAME = re.compile(r"(?<=[a-z,;] )(?<![Tt]he )(?<!\b[Aa] )(?<!\b[Aa]n )[A-Z][a-z]+(?: [A-Z][a-z]+)+(?![\w-])")
_NAMED_BEFORE = re.compile(r"[A-Z][\w.]*[ -]$")
# "PEP 517", "EIP-4337": what a number names is no figure, and another of its kind is another actor.
_NUMBERED = re.compile(r"(?<![A-Za-z])[A-Z]{2,}[ -]?\d+(?!\d)")
_NUMBERED_BEFORE = re.compile(r"(?:\b[A-Z][A-Za-z]*|\bversions?|版本?|第)[ -]?$|[\d.]$")
# What turns a statement round, widens its scope, or drops its hedge.
_TURNS = tuple(
    (kind, re.compile(rf"\b(?:{told})\b" if told.isascii() else told), other)
    for kind, told, other in (
        ("scope", "may|might|could", "will"),
        ("scope", r"some(?! \d)|several|many|(?<!at )most", "all"),
        ("scope", "a pilot(?: project)?|the pilot(?: project)?", "the company-wide roll-out"),
        ("scope", "plans to|aims to|intends to|proposes to", "has already begun to"),
        ("scope", "plan to|aim to|intend to|propose to", "have already begun to"),
        ("scope", "可能|或许|有望", "必然"),
        ("scope", "部分|多数|一些", "全部"),
        ("scope", "计划|計劃|拟|擬", "已经"),
        ("direction", "increased|rose|grew|improved", "fell"),
        ("direction", "decreased|fell|dropped|declined", "rose"),
        ("direction", "higher than", "lower than"),
        ("direction", "lower than", "higher than"),
        ("direction", "增长|增長|上升|提高", "下降"),
        ("direction", "下降|减少|減少|降低", "上升"),
        ("direction", "高于|高於", "低于"),
        ("status", "accepted|approved", "rejected"),
        ("status", "rejected|withdrawn|deferred", "accepted"),
        ("status", "接受|批准", "驳回"),
        ("status", "驳回|駁回|撤回", "接受"),
    )
)
# A message begins with when it was sent.
_STAMP = re.compile(r"[\[(]?\d{1,4}[-/.]\d")
_MIN_CHARS, _MAX_CHARS = 20, 300
# A heading is no sentence.
_STOPS = (".", "。", "!", "?", "！", "？")


def planted_statements(
    sentences: Sequence[Sentence], passages: Sequence[Evidence], most: int, titles: Mapping[str, str] | None = None
) -> list[Sentence]:
    """Return at most so many false statements, each on other passages and of another kind where there are enough.

    What a statement was changed to stands neither in the passages that it cites nor in their documents' `titles`.
    """
    told = {piece.id: f"{(titles or {}).get(piece.id, '')} {piece.quote}" for piece in passages}
    own = [each for each in sentences if each.kind == "finding" and not each.cells]
    quoted = [
        Sentence(text=" ".join(piece.quote[start:end].split()), evidence=(piece.id,))
        for piece in sorted(passages, key=lambda piece: digest(piece.quote))
        for start, end in (split_sentences(piece.quote) if not piece.header else ())
    ]
    whole = " ".join(piece.quote for piece in passages)
    found: list[Sentence] = []
    used: set[str] = set()
    cited: set[str] = set()
    for each in (*sorted(own, key=lambda each: digest(each.text)), *quoted):
        if len(found) == most:
            break
        if not stands_alone(each.text):
            continue
        held = " ".join(told[id_] for id_ in each.evidence if id_ in told)
        options = dict(_false_versions(each.text, held, whole)) if cited.isdisjoint(each.evidence) else {}
        kind = next((each for each in options if each not in used), next(iter(options), ""))
        if kind:
            # All kinds have their turn before one comes again.
            used = {kind} if kind in used else {*used, kind}
            cited.update(each.evidence)
            found.append(Sentence(text=options[kind], evidence=each.evidence))
    return found


def _false_versions(sentence: str, held: str, whole: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence with another scope, direction, status, subject, period or figure, each with its kind; `held` is
    what the passages say that it cites, and `whole` what all of them say.
    """
    is_whole = sentence.endswith(_STOPS) and _MIN_CHARS <= len(sentence) <= _MAX_CHARS
    if not is_whole or "|" in sentence or _STAMP.match(sentence):
        return
    for kind, pattern, other in _TURNS:
        found = pattern.search(sentence)
        if found and found[0] in held and other not in held:
            yield kind, pattern.sub(other, sentence, count=1)
    yield from _with_other_name(sentence, held, whole)
    for mention in find_dates(sentence)[:1]:
        year = mention.iso[:4]
        later = str(int(year) + 2) if year.isdigit() else ""
        if later and year in mention.raw and later not in held:
            yield "period", sentence.replace(mention.raw, mention.raw.replace(year, later), 1)
    days = " ".join(mention.raw for mention in (*find_dates(sentence), *find_months(sentence)))
    for figure in figures_of(sentence):
        digits, before = _DIGITS.search(figure.raw), sentence.partition(figure.raw)[0]
        is_name = _VERSION.fullmatch(figure.raw.strip()) or _NUMBERED_BEFORE.search(before.rstrip())
        if digits and digits[0] not in days and before != sentence and not is_name:
            # Another first digit, and so another size.
            other = str((int(digits[0][0]) + 2) % 9 + 1) + digits[0][1:]
            changed = figure.raw.replace(digits[0], other, 1)
            if changed.strip() not in whole:
                yield "figure", sentence.replace(figure.raw, changed, 1)
                break


def _with_other_name(sentence: str, held: str, whole: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence about somebody or something else of the same kind, which only other passages name."""
    for pattern in (_NUMBERED, _NAME):
        for own in pattern.finditer(sentence):
            kind = own[0].rstrip("0123456789") if pattern is _NUMBERED else ""
            others = [
                name
                for name in sorted({*pattern.findall(whole)})
                if name.startswith(kind) and name not in held and name not in sentence
            ]
            if others and not _NAMED_BEFORE.search(sentence[: own.start()]):
                yield "subject", sentence.replace(own[0], others[len(sentence) % len(others)], 1)
                return
