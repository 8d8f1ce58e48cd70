"""All of the source stays within one sum of tokens. It is raised only by what an issue allows."""

from pathlib import Path

from tools.count_tokens import count_tokens, python_tokens

# Tokens of Python and words of data files. To be 500,400 or less before the work on first contact is done.
MAX_TOKENS = 500_469


def test_the_source_stays_within_its_sum():
    assert count_tokens().total() <= MAX_TOKENS, "take something away"


def test_comments_and_line_ends_do_not_count(tmp_path: Path):
    assert python_tokens("# why\n\nif one:\n    two = 3  # because\n") == python_tokens("if one: two = 3\n") == 6
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en.toml").write_text("a = 'two words'\n", encoding="utf-8")
    assert count_tokens(tmp_path) == {"words": 4}
