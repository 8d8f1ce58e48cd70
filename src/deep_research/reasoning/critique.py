"""Whether a question asks for judgement, so that a report looks at the whole from several sides (SPEC C1)."""

from deep_research.reasoning.critique_words import cues_of
from deep_research.reasoning.topic_signals import READ_CHARS, content_words
from deep_research.reasoning.topic_words import HAN_PER_WORD
from deep_research.text.folding import to_simplified

# A question of so much content has several sides: 50 Chinese characters, about 17 English words that carry meaning.
_LONG_WORDS = 50 / HAN_PER_WORD


def asks_for_judgement(question: str) -> bool:
    """Say whether a question asks for more than what is known: by its words, or by its length."""
    read = question[:READ_CHARS]
    return bool(cues_of(read)) or content_words(to_simplified(read)) >= _LONG_WORDS
