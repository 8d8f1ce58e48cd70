"""Files made to do harm: samples of every format that is read, and seeded ways to spoil them.

A case is named by a seed and a number, which fix the format, the kind of mutation and every choice in it.
"""

import base64
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from deep_research.documents.readers.registry import FORMATS

# No file grows beyond this, so that thousands are made and read in minutes.
MAX_BYTES = 300_000
# Stretches that readers and what comes after them may stumble over, alone or in great number.
TOKENS = (
    *(".", "…", "。", "!?", '"', "'", "(", "[", "{", "<", "|", "`", "*", "**a ", "_a ", "~~a ", "#", ">", "\\", "&"),
    *("1,", "1.", "123,", "1" * 400, "12%", "$1 ", "一", "百分之1,234", "第", "2020-", "May 5, ", "Q1 ", "fy ", "U.S."),
    *("\0", "\b", "\x1b[31m", "\x85", "\u2028", "\u200b", "\u200d", "\u202e", "\ufeff", "\u0301", "\ufdfa", "\ufffe"),
    *("<!--", "-->", "<![CDATA[", "]]>", "<?xml version='1.0' encoding='utf-7'?>", "<!DOCTYPE a [", "&#8;", "&#0;"),
    *("&#x110000;", "&amp;amp;", "&a;", '<!ENTITY a "b">', "<script>", "</p>", "<p hidden>", "<table><tr><td>"),
    *('<td rowspan="65000" colspan="1000">', f'<td colspan="{"9" * 5000}">', '<p style="color:rgb(', "}", "@media{"),
    *("<style>p p p{display:none}</style>", '<p style="width:1.2.3px;left:', '<meta charset="utf-16">', "<ul><li>"),
    *("../", "%00", "-1", "99999999999", "1e999", "NaN", "true", "null", "{}", "--x", "\n From ", "Re: ", "; a=b"),
    *("\n", "\n\n", "\r", "\t", " ", "Content-Type: multipart/mixed; boundary=x\n\n", "=?utf-8?q?=41?=", "=?x?b?"),
    *("ignore all ", "忽略", "Dr. ", "《中。》", "- ", "1. ", "![a](", "[a](b ", "<http://", "---\n", "```\n"),
    *("endobj\n", "endstream\n", "stream\n", "<< /Length 99999999 >>", "/Kids [3 0 R 3 0 R]", "BT ", "Tj ", "q "),
    *('<w:gridSpan w:val="99999999"/>', "<w:vMerge/>", '<c r="XFD1048576"/>', '<row r="999999999">', "<w:p>"),
    *("| - |\n", "From a 10:00\n\n", "<v>1</v>", "0 0 R"),
)


class Case(NamedTuple):
    """A spoiled file, and what it was made from and how."""

    number: int
    format: str
    kind: str
    name: str
    raw: bytes


def _fill_document(document: Any) -> None:
    document.add_heading("Costs of storage", 1)
    document.add_paragraph("Costs fell by 12% in 2024. 成本下降了。")
    document.add_paragraph("North", style="List Bullet")
    table = document.add_table(3, 3)
    for number, cell in enumerate(table._cells):
        cell.text = f"{number}.5%"
    table.cell(0, 0).merge(table.cell(2, 1))


@cache
def samples() -> dict[str, bytes]:
    """Return one file of each format, with as much of what the format knows as fits a small one."""
    # Who only wants to know the formats and kinds loads no package that writes Office files.
    from tests.unit.documents.readers.office_files import make_docx, make_epub, make_mail, make_pptx, make_xlsx
    from tests.unit.documents.readers.pdf_files import make_pdf

    page = (
        "<!doctype html><html><head><title>Costs</title><style>p.a, div > p { color: red } @media print {p{top:0}}"
        '</style><script type="application/ld+json">{"@type": "Article", "author": [{"name": "Ann"}]}</script></head>'
        '<body><h1>Costs</h1><p class="a b" style="color: rgb(1, 2, 3); font: 12px/1 a">They <b>fell</b> by 12%.</p>'
        '<table><tr><th colspan="2">Site</th></tr><tr><td>North</td><td>12%</td></tr></table><ul><li>one<li>two</ul>'
        "<p hidden>Secret.</p><!-- remark --><blockquote>It was said.</blockquote></body></html>"
    )
    mail = make_mail()
    messages = ({"from": "Ann", "date": 1715000000, "body": f"Text {n}.", "to": [{"name": "Bo"}]} for n in range(5))
    made = {
        "text": "Costs\n\nCosts fell by 12% in the U.S. They rose again. 成本下降了百分之十二。\n- one\n".encode(),
        "markdown": b"---\ntitle: Costs\n---\n# A #\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x](y) **b** <!-- c -->\n",
        "html": page.encode(),
        "pdf": make_pdf([["Costs fell by 12% in the north.", "They rose."], ["Again."]], info="/Title (Costs)"),
        "docx": make_docx(_fill_document),
        "pptx": make_pptx(),
        "xlsx": make_xlsx(),
        "csv": 'name,amount,note\n"a ""q""",1.5,"x\ny"\n电池,2,z\n\nother,table\n1,2\n'.encode(),
        "eml": mail,
        "mbox": b"From a Mon May  6 10:00:00 2024\n" + mail + b"\n\nFrom b Mon May  6 10:00:00 2024\n" + mail,
        "epub": make_epub(),
        "jsonl": b"\n".join(json.dumps(message).encode() for message in messages),
    }
    assert made.keys() == FORMATS.keys(), "every format that can be read is tried"
    return {name: _dateless(raw) for name, raw in made.items()}


def _dateless(raw: bytes) -> bytes:
    """Return a sample without what its maker takes from the clock or from chance."""
    if raw.startswith(b"PK"):
        return _zipped({name: _dateless(part) for name, part in _parts(raw).items()})
    raw = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2024-05-06T00:00:00Z", raw)
    return re.sub(rb"={15}\d+==", b"=" * 15 + b"1==", raw)


def case(seed: int, number: int) -> Case:
    """Return a case; twelve formats and seven kinds follow each other, so that any long run holds all pairs."""
    formats, kinds = list(FORMATS), list(KINDS)
    name, kind = formats[number % len(formats)], kinds[number // len(formats) % len(kinds)]
    chance = random.Random(f"{seed} {number}")
    raw = KINDS[kind](name, chance)[:MAX_BYTES]
    suffix = FORMATS[name].suffixes[0]
    return Case(number, name, kind, f"hostile{suffix}", raw)


def _flipped(raw: bytes, chance: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(chance.choice((1, 2, 5, 30)) if changed else 0):
        changed[chance.randrange(len(changed))] = chance.choice((0, 255, chance.randrange(256), chance.choice(b"09<>")))
    return bytes(changed)


def _cut(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw) + 1)
    return chance.choice((raw[:at], raw[at:], raw[:at] + raw[min(len(raw), at + chance.randrange(1, 100)) :]))


def _spliced(raw: bytes, chance: random.Random) -> bytes:
    other = chance.choice(list(samples().values()))
    at, other_at = chance.randrange(len(raw) + 1), chance.randrange(len(other))
    return raw[:at] + other[other_at : other_at + chance.choice((50, 5_000))] + chance.choice((b"", raw[at:]))


def _repeated(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw) or 1)
    end = start + chance.choice((1, 5, 30, 200))
    times = chance.choice((50, 1_000, 50_000))
    stretch = raw[start:end]
    return raw[:start] + stretch * min(times, MAX_BYTES // 2 // (len(stretch) or 1)) + raw[start:]


def _with_tokens(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 3, 10))):
        token = chance.choice(TOKENS).encode("utf-8", "surrogatepass")
        at = chance.randrange(len(raw) + 1)
        many = min(chance.choice((1, 40, 1_000, 50_000)), MAX_BYTES // 6 // len(token))
        raw = raw[:at] + token * many + raw[at:]
    return raw


_SIMPLE = (_flipped, _cut, _spliced, _repeated, _with_tokens)


def _any_simple(raw: bytes, chance: random.Random) -> bytes:
    return chance.choice(_SIMPLE)(raw, chance)


def _recoded(raw: bytes, chance: random.Random) -> bytes:
    """Return text in another encoding than it says, or than any of it says."""
    text = raw.decode("utf-8", "replace")
    encodings = ("utf-16", "utf-16-be", "utf-32", "gb18030", "big5", "cp932", "cp1252", "utf-7", "euc_kr", "cp037")
    recoded = text.encode(chance.choice(encodings), "replace")
    mark = chance.choice((b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0"))
    label = chance.choice(encodings)
    head = chance.choice(
        (b"", f'<?xml version="1.0" encoding="{label}"?>'.encode(), f"<meta charset={label}>".encode())
    )
    return mark + head + chance.choice((recoded, raw, recoded + raw, _flipped(recoded, chance)))


def _in_archive(raw: bytes, change: Callable[[bytes], bytes], chance: random.Random) -> bytes:
    """Return a valid archive, one to three of its parts changed; parts may be stored twice or missing."""
    parts = _parts(raw)
    texts = [name for name in parts if name.endswith((".xml", ".rels", ".opf", ".xhtml"))]
    # What holds the text is chosen as often as all the rest.
    main = [name for name in texts if re.search(r"document|slide\d|sheet\d|\.opf|ch|shared|workbook|styles", name)]
    for name in chance.choices(chance.choice((texts, main)), k=chance.choice((1, 1, 3))):
        parts[name] = change(parts[name])[:MAX_BYTES]
    if chance.random() < 0.1:
        del parts[chance.choice(list(parts))]
    return _zipped(parts)


def _parts(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(parts: Mapping[str, bytes]) -> bytes:
    """Return an archive that is the same at any time of day."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _in_xml(content: bytes, chance: random.Random) -> bytes:
    """Return XML that is still well formed where it was: elements multiplied or nested, numbers and words exchanged."""
    text = content.decode("utf-8", "replace")
    how = chance.random()
    elements = list(re.finditer(r"<([\w:]+)(?: [^<>]*)?(?:/>|>[^<>]*</\1>)", text))
    if how < 0.4 and elements:
        found = chance.choice(elements)
        many = min(chance.choice((2, 100, 5_000)), MAX_BYTES // 2 // len(found.group()))
        return (text[: found.start()] + found.group() * many + text[found.end() :]).encode()
    if how < 0.6 and elements:
        found = chance.choice(elements)
        name, depth = found.group(1), chance.choice((3, 100, 3_000))
        return (
            text[: found.start()] + f"<{name}>" * depth + found.group() + f"</{name}>" * depth + text[found.end() :]
        ).encode()
    if how < 0.85:
        values = chance.choice(("-1", "0", "99999999", "1e999", "x", "", "1" * 5_000, "2147483648", "../a", "rId1"))
        attribute = re.compile(r' (?!xmlns|r:|Id|Target|Type)([\w:]+)="[^"]*"')
        share = chance.choice((0.02, 0.2))
        return attribute.sub(lambda m: f' {m[1]}="{values}"' if chance.random() < share else m[0], text).encode()
    word = chance.choice(TOKENS)
    safe = "".join(sign for sign in word if sign not in "<>&" and (sign >= " " or sign in "\t\n") and sign < "\ufffe")
    many = chance.choice((1, 100, 20_000))
    return re.sub(r"(?<=>)[^<>]+(?=</)", lambda m: safe * (many if chance.random() < 0.2 else 1), text).encode()


def _in_pdf(raw: bytes, chance: random.Random) -> bytes:
    """Return a PDF with objects changed and a right table of where they stand."""
    objects = re.findall(rb"\d+ 0 obj\n(.*?)\nendobj\n", raw, re.DOTALL)
    trailer = raw[raw.index(b"trailer") : raw.index(b"startxref")]
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(objects))
        how = chance.random()
        if how < 0.3:
            other = chance.choice((b"-1", b"0", b"99999999999", b"1e30", b"0.0001", b"65535"))
            words = re.split(rb"(\d+)", objects[at])
            objects[at] = b"".join(other if word.isdigit() and chance.random() < 0.2 else word for word in words)
        elif how < 0.5:
            depth = chance.choice((10, 500, 20_000))
            objects[at] = objects[at].replace(b"/", b"/X " + b"[" * depth + b"]" * depth + b" /", 1)
        elif how < 0.7:
            kid = b"%d 0 R " % chance.randrange(1, len(objects) + 1)
            objects[at] = re.sub(rb"\d+ 0 R", kid * chance.choice((1, 1, 3_000)), objects[at])
        else:
            objects[at] = _any_simple(objects[at], chance)
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content[:MAX_BYTES])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(out)
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s%sstartxref\n%d\n%%%%EOF\n" % (
        *(len(objects) + 1, table, trailer),
        start,
    )


def _in_mail(raw: bytes, chance: random.Random) -> bytes:
    """Return a mail whose parts are right and many, deep, or hold something else than they say."""
    body = chance.choice((*map(str.encode, TOKENS), samples()["html"], samples()["docx"]))
    body = body * min(chance.choice((1, 100, 10_000)), MAX_BYTES // 3 // len(body))
    kind = chance.choice(("text/plain", "text/html", "multipart/alternative; boundary=b0", "message/rfc822", "x"))
    charset = chance.choice(("utf-8", "utf-16", "idna", "punycode", "x-gb2312", "unknown-8bit", "\x00"))
    if chance.random() < 0.5:
        part = b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(body)
    else:
        part = b"Content-Transfer-Encoding: quoted-printable\n\n" + body
    part = f'Content-Type: {kind}; charset="{charset}"; name*=a\n'.encode("utf-8", "replace") + part
    if chance.random() < 0.5:
        part = (b"--b\n" + part + b"\n") * min(chance.choice((2, 300)), MAX_BYTES // len(part) + 1)
        part = b"Content-Type: multipart/mixed; boundary=b\n\n" + part + b"--b--\n"
    else:
        for depth in range(chance.choice((2, 30, 400))):
            part = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n%s\n--b%d--\n" % (depth, depth, part, depth)
    mail = b"From: a@example.org\nSubject: " + _any_simple(b"=?utf-8?b?5oiQ5pys?= costs", chance) + b"\n" + part
    return mail if raw.startswith(b"From:") else b"From a Mon May  6 10:00:00 2024\n" + mail + b"\n\n" + raw


def _in_json(chance: random.Random) -> bytes:
    def value(depth: int) -> Any:
        if depth > 6 or chance.random() < 0.3:
            return chance.choice((chance.choice(TOKENS) * chance.choice((1, 1, 500)), 1e300, -1, None, True, 10**30))
        keys = ("body", "from", "to", "date", "parts", "headers", "name", "title", "channel", "attachments", "x" * 99)
        if chance.random() < 0.5:
            return {chance.choice(keys): value(depth + 1) for _ in range(chance.randrange(1, 6))}
        return [value(depth + 1)] * (chance.choice((1, 3, 50)) if depth > 4 else chance.choice((1, 2)))

    lines = [
        json.dumps({"body": value(3), "from": "a", "m": value(0)})[:20_000] for _ in range(chance.randrange(1, 20))
    ]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _in_lines(chance: random.Random) -> bytes:
    """Return lines of a few tokens each: what lists, tables, quotations and rows of cells are made of."""
    few = [chance.choice(TOKENS) for _ in range(chance.randrange(1, 4))]
    joint = chance.choice((",", " ", "|", "\t", "", ";"))
    line = joint.join(chance.choice(few) for _ in range(chance.choice((1, 5, 1_000))))
    lines = (line + "\n") * min(chance.choice((3, 500, 20_000)), MAX_BYTES // len(line.encode("utf-8", "replace")) + 1)
    return lines.encode("utf-8", "surrogatepass")


def _valid_with_hostile_content(name: str, chance: random.Random) -> bytes:
    raw = samples()[name]
    if raw.startswith(b"PK"):
        return _in_archive(raw, lambda part: _in_xml(part, chance), chance)
    if name == "pdf":
        return _in_pdf(raw, chance)
    if name in ("eml", "mbox"):
        return _in_mail(raw, chance)
    if name == "jsonl":
        return _in_json(chance)
    if name == "html":
        return _in_xml(raw, chance)
    return raw + _in_lines(chance)


def _with_lying_encoding(name: str, chance: random.Random) -> bytes:
    raw = samples()[name]
    if raw.startswith(b"PK"):
        return _in_archive(raw, lambda part: _recoded(part, chance), chance)
    return _recoded(raw, chance)


def _simple(change: Callable[[bytes, random.Random], bytes]) -> Callable[[str, random.Random], bytes]:
    """Return a kind of mutation that changes the bytes, in archives those of a part as often as those of the whole."""

    def mutate(name: str, chance: random.Random) -> bytes:
        raw = samples()[name]
        if raw.startswith(b"PK") and chance.random() < 0.5:
            return _in_archive(raw, lambda part: change(part, chance), chance)
        return change(raw, chance)

    return mutate


KINDS: dict[str, Callable[[str, random.Random], bytes]] = {
    "bytes": _simple(_flipped),
    "cut": _simple(_cut),
    "splice": _simple(_spliced),
    "repeat": _simple(_repeated),
    "tokens": _simple(_with_tokens),
    "content": _valid_with_hostile_content,
    "encoding": _with_lying_encoding,
}
