"""Plain text: decoded, lines kept, nothing else touched."""

from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.port import Reading, is_title_like
from deep_research.report.sources.document import Place


def read(raw: bytes, name: str) -> Reading:
    """Return a text file as it is; its title is its first line where that is short and no sentence."""
    text, encoding = decode(raw, name)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return Reading(
        text=text,
        title=first if is_title_like(first) else "",
        places=(Place(kind="line", label="1", start=0, end=len(text)),),
        warnings=() if "\ufffd" not in text else (f"some characters could not be read as {encoding}",),
    )
