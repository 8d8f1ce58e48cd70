"""Fixed words of reports and shells in every language we write. Does not translate what sources say."""

from deep_research.messages.language import report_language
from deep_research.messages.words import Words, words_in

__all__ = ["Words", "report_language", "words_in"]
