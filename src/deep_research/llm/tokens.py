"""How many tokens a text has at most, for any model, without a tokenizer's tables, which would have to be downloaded.

The weights are fitted to the largest count of eight tokenizers (GPT-4, GPT-4o, Qwen, DeepSeek, Llama 3 and 4, Claude 2,
Mistral 7B) on English, Chinese in both scripts, code, JSON and tables, and set a little above it.
"""

import re
from functools import lru_cache
from math import ceil

_WORD = re.compile(r"[A-Za-z]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
# Words up to this length are one token nearly everywhere.
_SHORT_WORD = 6
# The last lead byte of GB 2312's common characters; rarer and traditional ones take two or three tokens.
_LAST_COMMON = 0xD7
# What a message itself takes: its role and its ends.
TOKENS_PER_MESSAGE = 8
# No prompt is longer; an answer without end must not stay in memory.
_MAX_REMEMBERED_CHARS = 200_000


def tokens_at_most(text: str) -> int:
    """Return an upper estimate of the tokens in a text."""
    return (_count if len(text) <= _MAX_REMEMBERED_CHARS else _count.__wrapped__)(text)


# The parts of a prompt are counted when it is put together, and the whole when it is paid for and when it is sent.
@lru_cache(maxsize=256)
def _count(text: str) -> int:
    words = _WORD.findall(text)
    letters = len("".join(words))
    long_words = [word for word in words if len(word) > _SHORT_WORD]
    digits = sum(map(text.count, "0123456789"))
    spaces, lines = text.count(" "), text.count("\n")
    ascii_chars = len(text.encode("ascii", "ignore"))
    han = "".join(_HAN.findall(text))
    common = sum(lead <= _LAST_COMMON for lead in han.encode("gb2312", "ignore")[::2])
    return ceil(
        1.25 * len(words)
        + 0.3 * (len("".join(long_words)) - _SHORT_WORD * len(long_words))
        + 1.35 * common
        + 1.9 * (len(han) - common)
        + 1.1 * digits
        + 1.1 * (ascii_chars - letters - digits - spaces - lines)
        + 0.5 * lines
        + 1.4 * (len(text) - ascii_chars - len(han))
    )
