"""What a file holds, judged by its bytes: the name of a format, or a plain description of what is not read."""

import re

from deep_research.documents.readers.archive import entry_names
from deep_research.errors import SourceError, SourceProtected

_SIGNATURES = {
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"BM6": "a bitmap image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"RIFF": "an audio, video or WebP file",
    b"ID3": "an audio file",
    b"OggS": "an audio or video file",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"SQLite format 3\0": "a SQLite database",
    b"{\\rtf": "an RTF document",
    b"%!PS": "a PostScript file",
}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Office wraps a protected .docx, .xlsx or .pptx into an old Office file with a part of this name.
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_ARCHIVES = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
}
# A PDF may have a few bytes before its header; readers accept it within the first kilobyte.
_PDF_HEADER_BYTES = 1024
# A comment must not match in two ways, or many of them match in more ways than can be tried.
_COMMENT = rb"<!--(?:[^-]|-(?!->))*-->"
_HTML = re.compile(
    rb"\A[\s\0]*(?:<\?xml[^>]*>\s*)?(?:" + _COMMENT + rb"\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE
)


# Enough of a file for `sniff`, unless it `needs_all`.
HEAD_BYTES = 65_536


def needs_all(head: bytes) -> bool:
    """Return whether the beginning of a file does not say what it holds: archives list their entries at the end."""
    return head.startswith((*_ZIP, _OLE))


def sniff(raw: bytes, name: str) -> str:
    """Return the format a file holds ("text" for any text that is not HTML), or what it is instead."""
    if b"%PDF-" in raw[:_PDF_HEADER_BYTES]:
        return "pdf"
    if raw.startswith(_ZIP):
        names = entry_names(raw, name)
        return next((kind for entry, kind in _ARCHIVES.items() if entry in names), "a ZIP archive")
    if raw.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in raw:
            raise SourceProtected(f"{name!r} is protected by a password; save a copy without one.")
        raise SourceError(f"{name!r} is an old Office file; open it and save it as .docx, .xlsx or .pptx.")
    for signature, description in _SIGNATURES.items():
        if raw.startswith(signature):
            return description
    head = raw[:8192]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "ignore").encode()
    return "html" if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")) else "text"
