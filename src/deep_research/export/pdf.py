"""A report as PDF, set by typst: pages that can be kept for long (PDF/A) and read aloud (PDF/UA).

The template `report.typ` gets every text as data, so that no sign in it is markup. A sign that no font has is shown by
its code, and the report says so.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from unicodedata import category

import typst

from deep_research.charts.style import FONTS, packaged_font
from deep_research.errors import InputError, UsageError
from deep_research.export.contents import Contents
from deep_research.export.printed import WRITING, PrintedBlock, is_number_column, printed, shares_of, text_of
from deep_research.report.escaping import one_line
from deep_research.report.layout import Heading, Picture, Span, Table
from deep_research.request import Language
from deep_research.text.messages.words import Words, words_in
from deep_research.value import Json, JsonObject, canonical_json

_LATIN = "Libertinus Serif"
# Of the fonts that have Arabic and other writing, the one whose letters join well.
_OTHERS = ("DejaVu Sans",)
_HAN = re.compile(r"[\u3400-\u9fff]")
# What typst says of a sign that no font has; the text is written as a string of Rust.
_MISSING = re.compile(r'the text `"((?:[^"\\]|\\.)*)"` could not be displayed')
_RUST_CODE = re.compile(r"\\u\{([0-9a-f]+)\}")
# A word without a place to break a line would run out of the page; in a narrow column, shorter ones do.
_LONG_WORD = re.compile(r"[!-~\u00a1-\u024f]{25,}")
_LONG_IN_COLUMN = re.compile(r"[!-~\u00a1-\u024f]{13,}")
_BREAK_AFTER = re.compile(r"[/_.,;:&=?@|-]+(?=\w)|\w{12}(?=\w)")
_MAX_KEYWORDS = 12
_MAX_WIDE_COLUMNS = 5
# A smaller table stands on one page.
_SMALL_TABLE_CHARS = 1_500
# Fields of blocks that the template has no use for.
_UNPRINTED = frozenset({"caption", "part", "sentences"})
_ONE_PICTURE = '#set document(title: "x")\n#image("{file}", alt: "x")'
# After each try the signs that were found missing are gone.
_MAX_TRIES = 4


def to_pdf(contents: Contents) -> bytes:
    """Return the report as PDF; the same report gives the same bytes where the same fonts are."""
    edition, words = contents.edition, words_in(contents.edition.language)
    packaged = packaged_font()
    fonts = typst.Fonts(font_paths=[packaged.parent] if packaged else [])
    with TemporaryDirectory() as name:
        folder = Path(name)
        template = files("deep_research.export").joinpath("report.typ").read_bytes()
        compiler = typst.Compiler(template, root=folder, font_paths=fonts)
        pictures = _pictures(contents, folder, compiler)
        data = _data(contents, pictures, words)
        data["fonts"] = fonts_for(edition.language, fonts.families(), canonical_json(data))
        missing: set[str] = set()
        for _ in range(_MAX_TRIES):
            (folder / "data.json").write_text(_spelled(data, missing, words), encoding="utf-8")
            try:
                return _compiled(compiler, template, edition.created_at)
            except typst.TypstError as error:
                found, reason = _missing_signs(error.diagnostic), error.message
            if not found - missing:
                break
            missing |= found
    raise InputError(f"No PDF can be made of this report: {reason}")


def _compiled(compiler: typst.Compiler, source: bytes, moment: datetime) -> bytes:
    second = int(moment.timestamp())
    made = compiler.compile(source, format="pdf", pdf_standards=["a-2a", "ua-1"], timestamp=second)
    return cast("bytes", made)


def fonts_for(language: Language, known: Sequence[str], text: str) -> list[Json]:
    """Return the fonts that are there, those with the forms of the language first."""
    form = WRITING.get(language, WRITING["zh-Hans"])[2]
    wanted = (f"Noto Serif CJK {form}", f"Noto Sans CJK {form}", *FONTS, "Noto Sans SC")
    chinese = [name for name in wanted if name in known]
    if not chinese and _HAN.search(text):
        raise UsageError(
            "There is no font with Chinese signs here: install Noto CJK (on Debian and Ubuntu: apt-get install "
            "fonts-noto-cjk), or pip install 'deep-research[pdf]'"
        )
    latin: Json = _LATIN if language not in WRITING else {"name": _LATIN, "covers": "latin-in-cjk"}
    return [latin, *dict.fromkeys(chinese), *(name for name in _OTHERS if name in known)]


def _missing_signs(diagnostic: str) -> set[str]:
    texts = (_RUST_CODE.sub(lambda code: chr(int(code[1], 16)), text) for text in _MISSING.findall(diagnostic))
    return {sign for text in texts for sign in text}


def _spelled(data: JsonObject, missing: set[str], words: Words) -> str:
    """Return the data for the template; signs that cannot be shown are codes, and the last line says which they are."""
    text = canonical_json(data)
    unshown = sorted(missing | {sign for sign in set(text) if category(sign) in ("Co", "Cn")})
    if not unshown:
        return text
    codes = {sign: f"U+{ord(sign):04X}" for sign in unshown}
    note = words("export.missing_signs", codes=", ".join(codes.values()))
    data = {**data, "missing_signs": note}
    return canonical_json(data).translate({ord(sign): f"⟨{code}⟩" for sign, code in codes.items()})


def _pictures(contents: Contents, folder: Path, compiler: typst.Compiler) -> dict[int, str]:
    """Write the pictures that typst can read; return their files by the number of the figure."""
    found: dict[int, str] = {}
    for caption in contents.edition.captions:
        for id_, ending in ((caption.figure.svg, "svg"), (caption.figure.png, "png")):
            file = f"figure-{caption.number}.{ending}"
            if id_ not in contents.pictures or caption.number in found:
                continue
            (folder / file).write_bytes(contents.pictures[id_])
            with suppress(typst.TypstError):
                _compiled(compiler, _ONE_PICTURE.format(file=file).encode(), contents.edition.created_at)
                found[caption.number] = file
    return found


def _data(contents: Contents, pictures: Mapping[int, str], words: Words) -> JsonObject:
    edition, pages = contents.edition, printed(contents)
    lang, region, *_ = WRITING.get(edition.language, (edition.language.partition("-")[0], None))
    created = edition.created_at
    before, _, after = words("export.cited_on", pages="\0").partition("\0")
    chapters: list[Json] = [block.text for block in pages.blocks if isinstance(block, Heading) and block.level == 2]
    rendered: list[Json] = [_block(block, pictures) for block in pages.blocks]
    return {
        "title": one_line(edition.report.title),
        "shown_title": _breakable(one_line(edition.report.title)),
        "description": one_line(edition.question),
        "keywords": chapters[:_MAX_KEYWORDS],
        "date": [created.year, created.month, created.day],
        "lang": lang,
        "region": region,
        "running_title": _breakable(pages.running_title),
        "subtitle": pages.subtitle,
        "has_contents": pages.has_contents,
        "contents": words("export.contents"),
        "cited_on": [before, after],
        "no_picture": words("export.no_picture"),
        "blocks": rendered,
        "missing_signs": "",
        "run_line": one_line(edition.report.run_line),
    }


def _block(block: PrintedBlock, pictures: Mapping[int, str]) -> JsonObject:
    """Return a block as the template takes it: its kind and its fields, with what only the printed form needs."""
    is_wide = isinstance(block, Table) and len(block.head) > _MAX_WIDE_COLUMNS
    long_word = _LONG_IN_COLUMN if is_wide else _LONG_WORD
    fields = {name: value for name, value in block._asdict().items() if name not in _UNPRINTED}
    shown: JsonObject = {name: _shown(value, long_word) for name, value in fields.items()}
    shown["kind"] = type(block).__name__.lower()
    if isinstance(block, Table):
        shown["right"] = [is_number_column(block, at) for at in range(len(block.head))]
        shown["widths"] = [*shares_of(block)]
        shown["is_small"] = sum(len(text_of(cell)) for row in block.rows for cell in row) <= _SMALL_TABLE_CHARS
    if isinstance(block, Picture):
        shown["file"] = pictures.get(block.caption.number)
    return shown


def _shown(value: Any, long_word: re.Pattern[str]) -> Json:
    """Return a value of the layout as JSON: what has names by them, and texts with places to break them."""
    if isinstance(value, Span):
        return [value.kind, _breakable(value.text, long_word), list(value.evidence)]
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _shown(each, long_word) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return [_shown(each, long_word) for each in value]
    return _breakable(value, long_word) if isinstance(value, str) else value


def _breakable(text: str, long_word: re.Pattern[str] = _LONG_WORD) -> str:
    """Return a text with zero-width spaces where a long word may be broken."""
    return long_word.sub(lambda word: _BREAK_AFTER.sub("\\g<0>\u200b", word[0]), text)
