"""Whom to believe about a page's encoding: its bytes, then its server, then the page, each only if it makes sense."""

import pytest

from deep_research.documents.readers import read

SIMPLIFIED = "渡轮航线的维修费用在这一年增加了百分之十二，我们认为成本还会上升；审计部门不同意这个说法。"
TRADITIONAL = "渡輪航線的維修費用在這一年增加了百分之十二，我們認為成本還會上升；審計部門不同意這個說法。"
WESTERN = "Größere Fähren kosteten im März fünf Millionen, für spätere Jahre gäbe es übrigens höhere Schätzungen. " * 4
RUSSIAN = "Продажи солнечных батарей в этом году выросли на десять процентов по сравнению с прошлым годом. "


def html(text: str, meta: str = "") -> str:
    label = f"<meta charset='{meta}'>" if meta else ""
    return (
        f"<!doctype html><html><head>{label}<title>T</title></head><body><article><p>{text}</p></article></body></html>"
    )


@pytest.mark.parametrize(
    ("text", "encoding", "header", "meta"),
    [
        (SIMPLIFIED, "gb18030", "gb2312", ""),
        (SIMPLIFIED, "gb18030", "GBK", "utf-8"),
        (SIMPLIFIED, "gb18030", "iso-8859-1", "gb2312"),
        (SIMPLIFIED, "gb18030", "iso-8859-1", ""),
        (SIMPLIFIED, "gb18030", "utf-8", "gbk"),
        (SIMPLIFIED, "gb18030", "big5", "gb2312"),
        (SIMPLIFIED, "gb18030", "", "iso-8859-1"),
        (SIMPLIFIED, "gb18030", "", ""),
        (SIMPLIFIED, "utf-8", "iso-8859-1", ""),
        (SIMPLIFIED, "utf-8", "gb2312", "gb2312"),
        (SIMPLIFIED, "utf-8-sig", "gb2312", "big5"),
        (SIMPLIFIED, "utf-16-le", "utf-16le", ""),
        (SIMPLIFIED, "utf-16", "utf-8", ""),
        (TRADITIONAL, "big5", "big5", "utf-8"),
        (TRADITIONAL, "big5", "gb2312", ""),
        (TRADITIONAL, "big5", "x-nonsense", "big5"),
        (TRADITIONAL, "big5hkscs", "undefined", "punycode"),
        (WESTERN, "latin-1", "iso-8859-1", "utf-8"),
        (WESTERN, "cp1252", "windows-1252", ""),
        (WESTERN, "latin-1", "gb2312", ""),
        (RUSSIAN, "cp1251", "windows-1251", ""),
        (RUSSIAN, "cp1251", "iso-8859-1", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-r", ""),
    ],
)
@pytest.mark.parametrize("kind", ["html", "plain"])
def test_the_encoding_is_the_one_that_makes_sense(text: str, encoding: str, header: str, meta: str, kind: str):
    source = html(text, meta) if kind == "html" else text
    media_type = f"text/{kind}; charset={header}" if header else f"text/{kind}"
    reading = read(source.encode(encoding), name="page", media_type=media_type)
    assert text.strip() in reading.text


@pytest.mark.parametrize("media_type", ['text/plain; charset="GBK"', "text/plain;Charset=gbk;format=flowed"])
def test_a_label_is_found_however_it_is_written(media_type: str):
    # Too few characters to tell an encoding by: only the label knows.
    assert read("张伟 went home.".encode("gbk"), name="a", media_type=media_type).text == "张伟 went home."


@pytest.mark.parametrize("label", ["undefined", "punycode", "idna", "unicode_escape", "utf-7", "zlib", "x", "%00"])
def test_a_label_that_is_no_charset_is_nobodys_problem(label: str):
    raw = html(WESTERN, label).encode("latin-1")
    assert WESTERN.strip() in read(raw, name="a.html", media_type=f"text/html; charset={label}").text


def test_a_damaged_byte_does_not_cost_a_page_that_says_it_is_utf_8():
    text = "The café at the Straße sold crêpes for 5 € – “déjà vu”, said the señor. " * 3
    raw = html(text, "utf-8").encode()
    damaged = raw.replace(b"sold", b"so\x92ld", 1)
    assert text.strip()[80:] in read(damaged, name="a.html").text
