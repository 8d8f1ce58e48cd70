"""Ids that come from content alone."""

import hashlib

from deep_research.report.sources.document import snapshot_id, text_id


def test_snapshot_id_is_the_hash_of_the_bytes():
    assert snapshot_id(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_text_id_depends_on_extractor_and_text_and_not_on_their_seam():
    ids = {text_id("html/1", "text"), text_id("html/2", "text"), text_id("html/1", "other"), text_id("html/1t", "ext")}
    assert len(ids) == 4


def test_text_that_is_not_valid_unicode_still_has_an_id():
    assert len(text_id("txt/1", "broken \ud800 text")) == 64
