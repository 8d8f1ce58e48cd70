"""What every export is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.report.edition import Edition
from deep_research.report.sources.document import Document


@dataclass(frozen=True)
class Contents:
    """A finished report: its parts, its pictures by content id, the Markdown that was shipped, and whether it passed.

    `folder` is the run's folder, where the files of the report lie. The cited `documents` and the pages that they were
    read from, `snapshots` by their ids, are there for a format that needs them.
    """

    edition: Edition
    pictures: Mapping[str, bytes]
    markdown: str
    is_verified: bool
    folder: str
    documents: Sequence[Document] = ()
    snapshots: Mapping[str, bytes] = field(default_factory=dict)
