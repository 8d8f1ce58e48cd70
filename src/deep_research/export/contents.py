"""What every export is made of."""

from collections.abc import Mapping
from dataclasses import dataclass

from deep_research.report.edition import Edition


@dataclass(frozen=True)
class Contents:
    """A finished report: its parts, its pictures by content id, the Markdown that was shipped, and whether it passed.

    `folder` is the run's folder, where the files of the report lie.
    """

    edition: Edition
    pictures: Mapping[str, bytes]
    markdown: str
    is_verified: bool
    folder: str
