"""Names in texts: which texts hold one, and which names several documents share: numbered things, names written in one
word, titles in Chinese brackets.

They say what else there is to look for, and make queries, never sentences.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

# "PEP 517", "EIP-4337", "GB/T 19001", but no year; "PodSecurityPolicy"; 《数据安全法》.
_NAME = re.compile(
    r"(?<![A-Za-z\d_/.#-])(?:[A-Z]{2,6}(?:/[A-Z])?[ -]?(?!(?:19|20)\d\d(?!\d))\d{2,6}|[A-Z][a-z]+(?:[A-Z][a-z]+)+)"
    r"(?![A-Za-z\d_/-])|《[^《》\n]{2,30}》"
)
# "PEP 517 build hooks": what is named up to its number says it all.
_NUMBERED = re.compile(r"^(.{1,30}?\d[\w.]*)\b")
_MIN_DOCUMENTS = 3
_MAX_NAMES = 40


def shared_names(texts: Iterable[str]) -> list[str]:
    """Return the names that at least three of these texts hold, those that most hold first."""
    counts = Counter[str]()
    spelled: dict[str, str] = {}
    for text in texts:
        own = {name_key(match[0]): match[0] for match in _NAME.finditer(text)}
        counts.update(dict.fromkeys(own, 1))
        spelled = own | spelled
    shared = [key for key, count in counts.items() if count >= _MIN_DOCUMENTS]
    return [spelled[key] for key in sorted(shared, key=lambda key: (-counts[key], key))][:_MAX_NAMES]


def short_name(name: str) -> str:
    """Return a name without what it is: "PEP 517: build backends"."""
    return re.split("[:：(（]", name)[0].strip().casefold()


@lru_cache(maxsize=256)
def name_pattern(name: str) -> re.Pattern[str]:
    """Return what finds a name in a text, whatever is said of it there."""
    whole = short_name(name)
    numbered = _NUMBERED.match(whole)
    plain = numbered[1] if numbered else whole
    escaped = re.escape(plain)
    return re.compile(rf"(?<!\w){escaped}(?!\w)" if plain.isascii() else escaped, re.IGNORECASE)


def name_key(name: str) -> str:
    """Return the same for all spellings of a name: "ERC-20", "ERC 20", "ERC20"."""
    return re.sub(r"[\s-]", "", name).casefold()
