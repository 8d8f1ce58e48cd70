"""What the sum of tokens counts; `make lint` prints it, and it is looked at when an issue ends."""

from pathlib import Path

from tools.count_tokens import count_tokens, python_tokens


def test_comments_line_ends_and_docstrings_do_not_count():
    assert python_tokens("# why\n\nif one:\n    two = 3  # because\n") == python_tokens("if one: two = 3\n") == 6
    assert python_tokens('"""What it is for."""\n\n\ndef one():\n    """Say why."""\n    return 1\n') == 7


def test_long_strings_and_other_files_count_by_words(tmp_path: Path):
    assert python_tokens("one = 'a short string'\n") == 3
    assert python_tokens("one = 'nine words that together are more than forty characters'\n") == 2 + 9
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en.toml").write_text("a = 'two words'\n", encoding="utf-8")
    (tmp_path / "page.html").write_text("<p>three short words</p>\n", encoding="utf-8")
    assert count_tokens(tmp_path) == {"words": 4, ".": 3}
