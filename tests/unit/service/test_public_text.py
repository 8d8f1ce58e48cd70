"""Paths of the server's machine are not told to clients; addresses of the web are."""

import pytest

from deep_research.service.public_text import sendable, without_paths


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Cannot write /home/ann/.local/share/store.db: no space.", "Cannot write store.db: no space."),
        ("There are no documents in /srv/papers/2025/", "There are no documents in …"),
        (r"The file C:\Users\ann\notes.txt is damaged", "The file notes.txt is damaged"),
        ("see ~/data/x.toml", "see x.toml"),
        ("https://example.org/a/b?c=/d/e was not found", "https://example.org/a/b?c=/d/e was not found"),
        ("file:///home/ann/notes.txt is gone", "file://notes.txt is gone"),
        ("网页 https://example.org/a/b 无法读取", "网页 https://example.org/a/b 无法读取"),
        ("and/or, 24/7, km/h", "and/or, 24/7, km/h"),
    ],
)
def test_paths_become_names(text, shown):
    assert without_paths(text) == shown


def test_half_characters_keep_their_place():
    assert sendable("a\ud800b") == "a?b"
