"""Bytes of a file in any known format → its text with places. Reads no disk and no network."""

from deep_research.documents.readers.finishing import PROMPT_INJECTION_FOUND
from deep_research.documents.readers.places import line_of, place_of
from deep_research.documents.readers.port import Reading
from deep_research.documents.readers.registry import format_of, known_suffixes, read, warm_up

__all__ = ["PROMPT_INJECTION_FOUND", "Reading", "format_of", "known_suffixes", "line_of", "place_of", "read", "warm_up"]
