"""Minimal PDF files written by hand, so that the tests need no PDF writer."""

from collections.abc import Sequence

Spot = tuple[float, float, str]
Stroke = tuple[float, float, float, float]


def make_pdf(pages: Sequence[Sequence[str]], *, info: str = "", encrypt: str = "") -> bytes:
    """Return a PDF with these lines on its pages, 14 points apart; any character of the Basic Plane can be used."""
    contents = [" ".join(f"<{_hex(line)}> Tj T*" for line in lines) for lines in pages]
    return _make([f"BT /F1 10 Tf 14 TL 20 760 Td {shown} ET" for shown in contents], info=info, encrypt=encrypt)


def make_drawn_pdf(pages: Sequence[tuple[Sequence[Spot], Sequence[Stroke]]]) -> bytes:
    """Return a PDF with texts that begin at a place (from the lower left) and lines from one place to another.

    A character is 5 points wide and 10 high; a page is 900 by 800.
    """
    return _make(
        [
            " ".join(f"{x} {y} m {to_x} {to_y} l S" for x, y, to_x, to_y in strokes)
            + " ".join(f" BT /F1 10 Tf {x} {y} Td <{_hex(text)}> Tj ET" for x, y, text in spots)
            for spots, strokes in pages
        ]
    )


def _hex(text: str) -> str:
    return text.encode("utf-16-be").hex()


def _make(contents: Sequence[str], *, info: str = "", encrypt: str = "") -> bytes:
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    font = (
        "<< /Type /Font /Subtype /Type0 /BaseFont /Test /Encoding /Identity-H /ToUnicode 4 0 R /DescendantFonts ["
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Test /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity)"
        " /Supplement 0 >> /DW 500 /FontDescriptor << /Type /FontDescriptor /FontName /Test /Flags 4"
        " /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>"
    )
    to_unicode = (
        "/CIDInit /ProcSet findresource begin begincmap /CMapName /T def /CMapType 2 def 1 begincodespacerange"
        " <0000> <FFFF> endcodespacerange 1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap end"
    )
    objects += [font, _stream(to_unicode)]
    kids = []
    for content in contents:
        kids.append(len(objects) + 1)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 800] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {len(objects) + 2} 0 R >>"
        )
        objects.append(_stream(content))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>"
    trailer = f"/Size {len(objects) + 2} /Root 1 0 R"
    if info:
        objects.append(f"<< {info} >>")
        trailer += f" /Info {len(objects)} 0 R"
    if encrypt:
        objects.append(encrypt)
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<00> <00>]"
    return assemble(objects, trailer)


def make_protected_pdf() -> bytes:
    """Return a PDF whose password is not the empty one: its key entries match nothing."""
    entry = "41" * 32
    return make_pdf([["secret"]], encrypt=f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{entry}> /U <{entry}> >>")


def _stream(content: str) -> str:
    return f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"


def assemble(objects: Sequence[str], trailer: str) -> bytes:
    """Return a PDF of these objects, numbered from 1, whose characters are its bytes."""
    out = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< {trailer} >>\n".encode()
    return out + f"startxref\n{start}\n%%EOF\n".encode()
