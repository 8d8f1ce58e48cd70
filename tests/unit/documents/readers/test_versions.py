"""Whoever changes what a file gives, or which terms a text has, raises the version by which indexes are told apart."""

import pytest

from deep_research.documents.readers import read
from deep_research.documents.readers.registry import FORMATS
from deep_research.documents.readers.versions import all_extractors, extractor_of
from tests.unit.documents.readers.golden import SAMPLES, Made, made_before, made_now, objection


def test_no_output_changed_without_its_version():
    before = made_before()
    forgotten = [told for name, made in made_now() if (told := objection(name, made, before.get(name)))]
    assert not forgotten, "\n".join(forgotten)


def test_every_format_has_a_version_that_its_texts_carry():
    for name in FORMATS:
        file, sample = SAMPLES[name]
        assert read(sample(), name=file).extractor == extractor_of(name)
    assert len(all_extractors()) == len(FORMATS)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (Made(2, {"p": "1"}, "same"), ""),
        (Made(2, {"p": "1"}, "other"), "raise its version"),
        (Made(2, {"p": "2"}, "other"), ""),
        (Made(3, {"p": "1"}, "other"), "new version"),
        (Made(1, {"p": "1"}, "same"), "lowered"),
    ],
)
def test_what_was_forgotten_is_said(now, told):
    assert (told in objection("html", now, Made(2, {"p": "1"}, "same"))) is True
    assert bool(told) is bool(objection("html", now, Made(2, {"p": "1"}, "same")))
