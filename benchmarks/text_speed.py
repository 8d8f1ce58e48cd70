"""How fast text is folded, split and analysed: MB of UTF-8 a second, English and Chinese, on generated prose."""

import random
import time
from collections.abc import Callable

from deep_research.text.analyzer import analyze
from deep_research.text.folding import fold_typography
from deep_research.text.quantities import find_quantities
from deep_research.text.script import detect_language
from deep_research.text.sentences import split_sentences

_CHARS = 400_000
_ACTS: dict[str, Callable[[str], object]] = {
    "split_sentences": split_sentences,
    "analyze": analyze,
    "fold_typography": fold_typography,
    "find_quantities": find_quantities,
    "detect_language": detect_language,
}


def english(chars: int, dice: random.Random) -> str:
    syllables = ["ra", "ten", "mo", "li", "gra", "pos", "un", "ver", "ing", "tion", "al", "ed"]
    words = ["".join(dice.choices(syllables, k=dice.randint(1, 4))) for _ in range(8_000)] + ["the", "of", "in"] * 900
    sentences = []
    for _ in range(chars // 120):
        sentence = " ".join(dice.choices(words, k=dice.randint(8, 30))).capitalize()
        sentences.append(f"{sentence} by {dice.randint(1, 99)}.{dice.randint(0, 9)}% in {dice.randint(1990, 2025)}.")
    return "\n\n".join(" ".join(sentences[at : at + 6]) for at in range(0, len(sentences), 6))


def chinese(chars: int, dice: random.Random) -> str:
    letters = [chr(code) for code in range(0x4E00, 0x5A00)]
    count = chars // 30
    return "".join("".join(dice.choices(letters, k=26)) + f"{dice.randint(1, 99)}万。" for _ in range(count))


def main() -> None:
    dice = random.Random(7)
    texts = {"en": english(_CHARS, dice), "zh": chinese(_CHARS, dice)}
    print(f"{'':18}" + "".join(f"{language:>12}" for language in texts))
    for name, act in _ACTS.items():
        speeds = []
        for text in texts.values():
            act(text[:20_000])
            begin = time.perf_counter()
            act(text)
            speeds.append(len(text.encode()) / 1e6 / (time.perf_counter() - begin))
        print(f"{name:18}" + "".join(f"{speed:7.1f} MB/s" for speed in speeds))


if __name__ == "__main__":
    main()
