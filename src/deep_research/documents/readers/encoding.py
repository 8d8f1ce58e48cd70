"""Bytes → text: byte order marks, valid UTF-8, what was declared, then the legacy encoding that reads best.

Labels are often wrong: one that cannot be followed, or only into nonsense, counts for nothing.
"""

import codecs
import re

from deep_research.errors import SourceError
from deep_research.text.cleaning import clean_text

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_EAST_ASIAN = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
# The commonest characters of Chinese prose in both scripts: about a third of any text, and rare in a misread one.
_COMMON = frozenset(
    "的一是不了在人有我他这這中大来來上国國个個到说說们們为為子和你地出道也时時年得就那要下以生会會自着著去之过過家学學对對可她里"
    "裡后後小么麼心多天而能好都然没沒日于於起还還发發成事只作当當想看文无無开開手十用主行方又如前所本见見经經头頭面公同三已老从從"
    "动動两兩长長与與及等业業量数數据據研究告报報"
    # The commonest syllables of Korean prose; Chinese misread as Korean is full of Hangul too, but of rare ones.
    "이다는의에을를하고가은한도로서인지사자기대시어나해있정것그과수리일제부성전주"
)
# Pages declare the old name and use the newer, larger set, as browsers know.
_LARGER = {
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
    "iso8859-1": "cp1252", "ascii": "cp1252",
}  # fmt: skip
# What Python calls an encoding and no text is in; one of them is slow without bound.
_NO_CHARSETS = frozenset("idna punycode raw-unicode-escape undefined unicode-escape utf-7".split())
_LABEL = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.ASCII | re.IGNORECASE)
# Below this share of characters that make sense, a text was not read in its own encoding.
_MIN_SHARE = 0.12
_MIN_LATIN_SHARE = 0.7
_MIN_ALPHABET_SHARE = 0.85
_ALPHABETS = tuple(
    re.compile(letters)
    for letters in ("[\u0370-\u03ff]", "[\u0400-\u04ff]", "[\u0590-\u05ff]", "[\u0600-\u06ff]", "[\u0e00-\u0e7f]")
)
# With fewer characters outside ASCII, what is declared is more certain than what is seen.
_ENOUGH_TO_DOUBT = 30
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_MAX_CONTROL_SHARE = 0.02
_ACCENTED_IN_WORD = re.compile(r"(?<=[A-Za-z])[\u00c0-\u024f]|[\u00c0-\u024f](?=[A-Za-z])|[“”‘’–—…•€£©®°§«»\u00a0]")
_DETECTION_BYTES = 64_000


def decode(raw: bytes, name: str, *, declared: str = "") -> tuple[str, str]:
    """Return the text of a file, cleaned, and the encoding it was in."""
    text, encoding = _decode(raw, declared)
    sample = text[:_DETECTION_BYTES]
    if len(_CONTROL.findall(sample)) > _MAX_CONTROL_SHARE * len(sample):
        raise SourceError(f"{name!r} is not text: it holds binary data; convert it to text, PDF or DOCX first.")
    return clean_text(text), encoding


def in_utf8(raw: bytes, media_type: str) -> bytes:
    """Return a text's bytes in UTF-8 where a server named their charset and was right; else as they are."""
    label = _LABEL.search(media_type)
    if label is None or _certain(raw) is not None:
        return raw
    text = _try(raw, _codec(label[1]))
    return raw if text is None or _is_misread(text, raw) else text.encode("utf-8", "replace")


def _decode(raw: bytes, declared: str) -> tuple[str, str]:
    certain = _certain(raw)
    if certain is not None:
        return certain
    codec = _codec(declared)
    if codec == "utf-8" and (repaired := _repaired(raw)) is not None:
        return repaired, codec
    text = _try(raw, codec)
    return _best_legacy(raw) if text is None or _is_misread(text, raw) else (text, codec)


def _certain(raw: bytes) -> tuple[str, str] | None:
    """Return the text and its encoding where the bytes leave no doubt, whatever anybody declares."""
    marked = (encoding for mark, encoding in _MARKS.items() if raw.startswith(mark))
    if encoding := next(marked, "") or _wide_encoding(raw):
        return raw.decode(encoding, "replace"), encoding
    text = _try(raw, "utf-8")
    return None if text is None else (text, "utf-8")


def _codec(label: str) -> str:
    """Return the encoding that a label means, empty where it means none."""
    try:
        name = codecs.lookup(label.removeprefix("x-")).name
    # A name with a zero in it is no name.
    except (LookupError, ValueError):
        return ""
    return "" if name in _NO_CHARSETS else _LARGER.get(name, name)


def _is_misread(text: str, raw: bytes) -> bool:
    """Return whether a text makes no sense as declared and does in another encoding."""
    return not _reads_well(text) and _reads_well(_best_legacy(raw)[0])


def _reads_well(text: str) -> bool:
    sample = text[:_DETECTION_BYTES]
    foreign = sum(not character.isascii() for character in sample)
    return (
        foreign < _ENOUGH_TO_DOUBT
        or _east_asian_share(text) >= _MIN_SHARE
        or _western_share(sample) >= _MIN_LATIN_SHARE
        or any(len(letters.findall(sample)) >= _MIN_ALPHABET_SHARE * foreign for letters in _ALPHABETS)
    )


def _wide_encoding(raw: bytes) -> str:
    """Return the UTF-16 form of text without a mark: Latin text then has a zero in every second byte."""
    sample = raw[:4096]
    half = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if half < 2 or max(even, odd) <= 0.6 * half or min(even, odd) >= 0.1 * half:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _try(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding) if encoding else None
    except (UnicodeError, LookupError):
        return None


def _repaired(raw: bytes) -> str | None:
    """Return text in UTF-8 with a few damaged bytes: one must not cost a whole file."""
    text = raw.decode("utf-8", "replace")
    return text if text.count("\ufffd") <= max(2, len(text) // 200) else None


def _best_legacy(raw: bytes) -> tuple[str, str]:
    readings = [(text, encoding) for encoding in _EAST_ASIAN if (text := _try(raw, encoding)) is not None]
    best = max(readings, key=lambda reading: _east_asian_share(reading[0]), default=None)
    western = raw.decode("cp1252", "replace")
    if best and _east_asian_share(best[0]) >= _MIN_SHARE:
        return best
    if _western_share(western) >= _MIN_LATIN_SHARE:
        return western, "cp1252"
    if (repaired := _repaired(raw)) is not None:
        return repaired, "utf-8"
    import charset_normalizer

    guess = charset_normalizer.from_bytes(raw[:_DETECTION_BYTES]).best()
    if guess is not None:
        return raw.decode(guess.encoding, "replace"), guess.encoding
    return western, "cp1252"


def _east_asian_share(text: str) -> float:
    """Return the share of the characters outside ASCII that are common Chinese or Korean, kana or punctuation."""
    foreign = [character for character in text[:_DETECTION_BYTES] if not character.isascii()]
    good = sum(
        character in _COMMON or "\u3041" <= character <= "\u30fc" or character in "，。、；：？！“”（）《》「」"
        for character in foreign
    )
    # Half-width kana and private characters are what other encodings look like when misread.
    odd = sum("\uff61" <= character <= "\uff9f" or "\ue000" <= character <= "\uf8ff" for character in foreign)
    return (good - 2 * odd) / len(foreign) if foreign else 0.0


def _western_share(text: str) -> float:
    foreign = sum(not character.isascii() for character in text)
    return len(_ACCENTED_IN_WORD.findall(text)) / foreign if foreign else 1.0
