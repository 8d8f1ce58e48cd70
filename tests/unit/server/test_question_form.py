"""What a form of the page asks for, or which of its fields do not fit."""

import pytest

from deep_research.server.page.new_research import QuestionForm, read_form
from deep_research.settings import Settings


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"since": "2026-12-31", "until": "2020-01-01"}, {"until"}),
        ({"since": "yesterday"}, {"since"}),
        ({"usd": "1e300"}, {"usd"}),
        ({"minutes": "1e300"}, {"minutes"}),
        ({"usd": "-1", "minutes": "abc"}, {"usd", "minutes"}),
        ({"question": ""}, {"question"}),
        ({"depth": "bottomless"}, {"depth"}),
    ],
)
def test_fields_that_do_not_fit_are_named(fields, wrong):
    assert read_form(QuestionForm.of({"question": "What did it cost?"} | fields)) == (None, wrong)


@pytest.mark.parametrize("given", [{}, {"depth": "quick", "length": "deep"}])
def test_a_form_shows_what_the_server_has_set_and_leaves_the_rest_to_the_question(given):
    form = QuestionForm.first(Settings(**given), "What did it cost?")
    assert (form["depth"], form["length"]) == (given.get("depth", ""), given.get("length", ""))
    new, _ = read_form(form)
    assert new is not None
    assert (new.depth, new.length) == (given.get("depth"), given.get("length"))


def test_a_form_that_fits_is_a_run_somebody_sits_at():
    new, wrong = read_form(QuestionForm.of({"question": "它花了多少钱？", "since": "2020-01-01", "minutes": "2"}))
    assert wrong == set()
    assert new is not None
    assert (new.question, new.budget.seconds, new.interactive) == ("它花了多少钱？", 120.0, True)
