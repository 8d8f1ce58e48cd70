"""Small files that take much: memory, processor time, an unpacked size that their directory denies."""

import io
import struct
import zipfile
import zlib

from tests.unit.documents.readers.office_files import change_part, make_xlsx
from tests.unit.documents.readers.pdf_files import assemble


def hungry_pdf() -> bytes:
    """Return a PDF of a kilobyte that needs more than a gigabyte: eight million graphics states, none given back."""
    shown = b"BT /F1 10 Tf 20 700 Td (Costs fell.) Tj ET\n" + b"q " * 8_000_000
    packed = zlib.compress(zlib.compress(shown, 9), 9).decode("latin-1")
    filters = "/Filter [/FlateDecode /FlateDecode]"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
        f"<< /Length {len(packed)} {filters} >>\nstream\n{packed}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    return assemble(objects, "/Size 6 /Root 1 0 R")


def slow_xlsx() -> bytes:
    """Return a workbook that takes many seconds: four hundred thousand styles, each made an object."""
    styles = b"<xf/>" * 400_000 + b"</cellXfs>"
    return change_part(make_xlsx(), "xl/styles.xml", lambda xml: xml.replace(b"</cellXfs>", styles))


def lying_zip(part: str, size: int) -> bytes:
    """Return an archive with a part of so many bytes, of which its directory states ten."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part, bytes(size))
        directory = archive.fp.tell() if archive.fp else 0
    raw = target.getvalue()
    # The size stands 24 bytes into the directory's first entry.
    return raw[: directory + 24] + struct.pack("<I", 10) + raw[directory + 28 :]


def crowded_zip(entries: int) -> bytes:
    """Return an archive whose directory names one and the same part so many times."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("word/document.xml", b"<x/>")
        directory = archive.fp.tell() if archive.fp else 0
    raw = target.getvalue()
    entry = raw[directory : raw.index(b"PK\x05\x06")]
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(entry) * entries, directory, 0)
    return raw[:directory] + entry * entries + end
