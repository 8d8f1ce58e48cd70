"""Bytes → text: byte order marks, valid UTF-8, what was declared, then the legacy encoding that reads best."""

import codecs
import re

from deep_research.errors import SourceError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
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
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "shift-jis": "cp932",
    "sjis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "iso-8859-1": "cp1252", "latin1": "cp1252",
}  # fmt: skip
# Below this share of characters that make sense, a text was not read in its own encoding.
_MIN_SHARE = 0.12
_MIN_LATIN_SHARE = 0.7
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_MAX_CONTROL_SHARE = 0.02
_ACCENTED_IN_WORD = re.compile(r"(?<=[A-Za-z])[\u00c0-\u024f]|[\u00c0-\u024f](?=[A-Za-z])|[“”‘’–—…•€£©®°§«»\u00a0]")
_NEWLINES = re.compile(r"\r\n?|[\u2028\u2029\u0085]")
_DETECTION_BYTES = 64_000


def decode(raw: bytes, name: str, *, declared: str = "") -> tuple[str, str]:
    """Return the text of a file, with plain line ends and no control characters, and the encoding it was in."""
    text, encoding = _decode(raw, declared)
    if len(_CONTROL.findall(text[:_DETECTION_BYTES])) > _MAX_CONTROL_SHARE * min(len(text), _DETECTION_BYTES):
        raise SourceError(f"{name!r} is not text: it holds binary data; convert it to text, PDF or DOCX first.")
    text = _NEWLINES.sub("\n", text).replace("\f", "\n").replace("\v", "\n")
    return _CONTROL.sub("", text), encoding


def _decode(raw: bytes, declared: str) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace"), encoding
    wide = _wide_encoding(raw)
    if wide:
        return raw.decode(wide, "replace"), wide
    for encoding in ("utf-8", _LARGER.get(declared.lower(), declared)):
        text = _try(raw, encoding)
        if text is not None:
            return text, encoding
    return _best_legacy(raw)


def _wide_encoding(raw: bytes) -> str:
    """Return the UTF-16 form of text without a mark: Latin text then has a zero in every second byte."""
    sample = raw[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if half >= 2 and odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    if half >= 2 and even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be"
    return ""


def _try(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding) if encoding else None
    except (UnicodeDecodeError, LookupError):
        return None


def _best_legacy(raw: bytes) -> tuple[str, str]:
    readings = [(text, encoding) for encoding in _EAST_ASIAN if (text := _try(raw, encoding)) is not None]
    best = max(readings, key=lambda reading: _east_asian_share(reading[0]), default=None)
    western = raw.decode("cp1252", "replace")
    if best and _east_asian_share(best[0]) >= _MIN_SHARE:
        return best
    if _western_share(western) >= _MIN_LATIN_SHARE:
        return western, "cp1252"
    # One damaged byte must not cost a whole UTF-8 file.
    repaired = raw.decode("utf-8", "replace")
    if repaired.count("\ufffd") <= max(2, len(repaired) // 200):
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
