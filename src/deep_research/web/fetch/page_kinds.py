"""What kind of page an answer is: a text to read, or an error page or wall that says so, whatever its status.

Rather lets a wall through than refuses an article: what has paragraphs enough to be read is one, whatever its title.
"""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from deep_research.documents.readers.html import ShownElement, shown_page
from deep_research.documents.readers.port import MAX_ELEMENTS
from deep_research.errors import SourceError
from deep_research.text.folding import to_simplified

PageKind = Literal[
    "article",
    "not found",
    "server error",
    "access denied",
    "challenge",
    "consent wall",
    "paywall",
    "login wall",
    "region block",
    "maintenance",
    "parked domain",
    "default page",
    "empty shell",
]

DESCRIPTIONS: dict[PageKind, str] = {
    "article": "a page with text",
    "not found": "a page that says it was not found",
    "server error": "a server's error page",
    "access denied": "a page that denies access",
    "challenge": "a check that keeps programs out",
    "consent wall": "a wall that asks for consent",
    "paywall": "only the beginning, the rest is for subscribers",
    "login wall": "a page to log in",
    "region block": "a page that is closed to this region",
    "maintenance": "a notice of maintenance",
    "parked domain": "a domain that is parked or for sale",
    "default page": "a web server's default page",
    "empty shell": "a page that scripts would have to fill",
}


class Signs(NamedTuple):
    """What gives a kind of page away: parts of titles and headings, and sentences."""

    kind: PageKind
    title: re.Pattern[str]
    sentence: re.Pattern[str]


class Walls(NamedTuple):
    """Words that stand on walls and on good pages too, and count only where there is little else."""

    paid: re.Pattern[str]
    consent: re.Pattern[str]
    agreeing: re.Pattern[str]
    scriptless: re.Pattern[str]


@cache
def known_signs() -> tuple[tuple[Signs, ...], Walls]:
    """Return the signs of `signs.toml`."""
    text = files("deep_research.web.fetch").joinpath("signs.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    signs = tuple(Signs(each["kind"], _any(each["titles"]), _any(each["sentences"])) for each in data["signs"])
    return signs, Walls(**{name: _any(words) for name, words in data["walls"].items()})


def _any(words: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(words).replace(" ", r"\s+").replace(r"\s+?", r"\s*"), re.IGNORECASE)


# What the services that keep programs out put into their pages.
CHALLENGE_MARKS = re.compile(
    rb"_cf_chl_opt|cf-chl-|cdn-cgi/challenge-platform|px-captcha|captcha-delivery\.com|_Incapsula_Resource"
    rb"|awsWafCookieDomainList|sec-if-cpt-container|hcaptcha\.com/1/api|recaptcha/api|perfdrive\.com"
)


# Lengths count a Chinese character as two and a half, about what an English word costs it.
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_HAN_WEIGHT = 2.5
_PARAGRAPH = 80
_SENTENCE_END = re.compile(r"[.!?。！？…]")
_ENOUGH_UNDER_A_TITLE = 1_200
_ENOUGH_BESIDE_A_SENTENCE = 500
_ENOUGH_BEHIND_A_WALL = 2_000
_ENOUGH_AFTER_CONSENT = 300
_SHELL = 200
_TITLE_PARTS = re.compile(r"\s+[-|–—·•»:_/]+\s+|[|｜_—–]|\s*\.\.\.\s*\|")
_NOT_FREE = re.compile(rb'"isAccessibleForFree"\s*:\s*"?(?:false|0)\b', re.IGNORECASE)
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_JSON_ERROR_BYTES = 4_000
_XML_ERROR = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?<(?:Error|error|errors|Fault|soap:Envelope|ServiceException)\b")
_TEXT_ERROR_CHARS = 300


class _WeighedText(NamedTuple):
    """A page in the form it is judged: its titles and blocks folded to one script, and how much of it is prose."""

    titles: list[str]
    blocks: list[str]
    prose: float

    @property
    def text(self) -> str:
        return "\n".join(self.blocks)


def kind_of_page(raw: bytes, *, name: str) -> PageKind:
    """Return what kind of page some HTML is."""
    if raw.count(b"<") > MAX_ELEMENTS:
        # No error, wall or shell is as large, and to parse it here would take long.
        return "article"
    try:
        shown = shown_page(raw, name)
    except SourceError:
        return "empty shell"
    page = _weigh(shown)
    if page.prose < _ENOUGH_BESIDE_A_SENTENCE and CHALLENGE_MARKS.search(raw) and _length(page.text) < _PARAGRAPH * 10:
        return "challenge"
    return _by_signs(page, shown) or _by_wall(page, raw) or _by_emptiness(page, shown, raw) or "article"


def kind_of_text(raw: bytes) -> PageKind:
    """Return what kind of answer a text is that is no HTML: JSON, XML or plain text may report an error."""
    if _XML_ERROR.match(raw[:500]):
        return "server error"
    if len(raw) <= _JSON_ERROR_BYTES and raw.lstrip()[:1] == b"{":
        return "server error" if _is_error_data(raw) else "article"
    line = to_simplified(raw[: _TEXT_ERROR_CHARS + 1].decode("utf-8", "ignore").strip())
    if len(line) > _TEXT_ERROR_CHARS or "\n\n" in line:
        return "article"
    kinds, _ = known_signs()
    return next((signs.kind for signs in kinds if signs.title.fullmatch(line.rstrip(".!。！"))), "article")


def _weigh(shown: ShownElement) -> _WeighedText:
    blocks = [to_simplified(block).replace("’", "'") for block in shown.blocks]
    titles = [
        part.strip(" \t.!。！*#")
        for title in (shown.title, *shown.headings)
        for part in (title, *_TITLE_PARTS.split(title))
    ]
    prose = sum(_length(block) for block in blocks if _is_prose(block))
    return _WeighedText([to_simplified(title).replace("’", "'") for title in titles if title], blocks, prose)


def _length(text: str) -> float:
    return len(text) + (_HAN_WEIGHT - 1) * len(_HAN.findall(text))


def _is_prose(block: str) -> bool:
    return _length(block) >= _PARAGRAPH and _SENTENCE_END.search(block) is not None


def _by_signs(page: _WeighedText, shown: ShownElement) -> PageKind | None:
    kinds, _ = known_signs()
    for signs in kinds:
        if any(signs.title.fullmatch(title) for title in page.titles) and _is_borne_out(signs, page, shown):
            return signs.kind
    if page.prose >= _ENOUGH_BESIDE_A_SENTENCE:
        return None
    return next((signs.kind for signs in kinds if signs.sentence.search(page.text)), None)


def _is_borne_out(signs: Signs, page: _WeighedText, shown: ShownElement) -> bool:
    """Return whether more than the title speaks for a kind: little to read, a form to log in, the server's words."""
    if signs.kind == "default page" and signs.sentence.search(page.text):
        return True
    if signs.kind == "login wall" and not shown.has_password:
        return page.prose < _ENOUGH_BESIDE_A_SENTENCE
    return page.prose < _ENOUGH_UNDER_A_TITLE


def _by_wall(page: _WeighedText, raw: bytes) -> PageKind | None:
    _, walls = known_signs()
    if page.prose >= _ENOUGH_BEHIND_A_WALL:
        return None
    if walls.consent.search(page.text) and walls.agreeing.search(page.text):
        asking = sum(_length(block) for block in page.blocks if _is_prose(block) and walls.consent.search(block))
        if page.prose - asking < min(asking, _ENOUGH_AFTER_CONSENT):
            return "consent wall"
    return "paywall" if _NOT_FREE.search(raw) or walls.paid.search(page.text) else None


def _by_emptiness(page: _WeighedText, shown: ShownElement, raw: bytes) -> PageKind | None:
    _, walls = known_signs()
    length = _length(page.text)
    if length < _SHELL and (_SCRIPT.search(raw) or not page.text.strip()):
        return "empty shell"
    is_little = page.prose < _ENOUGH_BESIDE_A_SENTENCE and length < 2 * _ENOUGH_BESIDE_A_SENTENCE
    return "empty shell" if is_little and walls.scriptless.search(f"{page.text}\n{shown.unscripted}") else None


def _is_error_data(raw: bytes) -> bool:
    """Return whether a small object reports an error, in one of the ways services do."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    if not isinstance(data, dict):
        return False
    lowered = {str(key).lower(): value for key, value in data.items()}
    if any(lowered.get(key) for key in ("error", "errors", "fault", "exception", "error_message", "errormessage")):
        return True
    has_message = any(key in lowered for key in ("message", "msg", "detail", "title", "reason"))
    failed = lowered.get("success") is False or lowered.get("ok") is False
    states = (lowered.get(key) for key in ("status", "code", "statuscode", "errcode"))
    bad = any(_is_bad_state(state) for state in states)
    return failed or (has_message and (bad or (len(lowered) <= 2 and "message" in lowered)))


def _is_bad_state(state: object) -> bool:
    if isinstance(state, str) and state.lower() in ("error", "fail", "failed", "failure"):
        return True
    number = str(state) if isinstance(state, int | str) and not isinstance(state, bool) else ""
    return number.isdigit() and 400 <= int(number) < 600
