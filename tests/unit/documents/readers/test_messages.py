"""Mail and chat: exports as JSON, single e-mails, mailboxes."""

import json

import pytest

from deep_research.documents.readers import Reading, place_of, read
from deep_research.errors import SourceError
from tests.unit.documents.readers.office_files import make_mail

CHAT = [
    {"type": "channel", "channel": {"name": "media", "display_name": "Media Relations", "header": "Press work"}},
    {"type": "user", "user": {"username": "ann.lee", "first_name": "Ann", "last_name": "Lee", "password": "hunter2"}},
    {
        "type": "post",
        "post": {"channel": "media", "user": "ann.lee", "message": "Costs fell.", "create_at": 1715000000000},
    },
    {
        "type": "post",
        "post": {"channel": "media", "user": "bob", "message": "By how much?", "create_at": 1715000060000},
    },
]
MAIL = {
    "subject": "Q3 budget",
    "from": "ann@example.org",
    "from_name": "Ann Lee",
    "to": ["bob@example.org"],
    "cc": [{"name": "Li An", "email": "an@example.org"}],
    "date": "2024-02-10 15:30:00",
    "body": "Hi Bob,\n\nThe budget is $1.2M.\n\nBest,\nAnn",
    "attachments": ["budget.xlsx"],
    "read": True,
}


def lines(*values: object) -> bytes:
    return "\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode()


def messages(reading: Reading) -> list[str]:
    return [place.label for place in reading.places if place.kind == "message"]


def test_a_chat_is_read_by_channel_with_full_names_and_without_passwords():
    reading = read(lines(*CHAT), name="chat.jsonl")
    assert reading.text.startswith(
        "## Media Relations\n\nFrom: Ann Lee; Date: 2024-05-06 12:53\n\nCosts fell.\n\n"
        "From: bob; Date: 2024-05-06 12:54\n\nBy how much?"
    )
    assert "Press work" in reading.text
    assert "hunter2" not in reading.text
    assert (reading.title, reading.author, reading.published) == ("Media Relations", "Ann Lee, bob", "2024-05-06")
    assert messages(reading)[:2] == ["1 (Ann Lee, 2024-05-06)", "2 (bob, 2024-05-06)"]


def test_headers_stand_on_a_line_of_their_own():
    reading = read(lines(MAIL), name="mail.jsonl")
    assert reading.text == (
        "## Q3 budget\n\nFrom: Ann Lee <ann@example.org>; To: bob@example.org, Li An <an@example.org>;"
        " Date: 2024-02-10 15:30:00; Files: budget.xlsx\n\nHi Bob,\n\nThe budget is $1.2M.\n\nBest,\nAnn"
    )
    assert (reading.title, reading.author, reading.published) == ("Q3 budget", "Ann Lee", "2024-02-10")
    assert messages(reading) == ["1, Q3 budget (Ann Lee, 2024-02-10)"]


def test_a_passage_over_two_messages_gets_both_numbers():
    reading = read(lines(MAIL, MAIL | {"subject": "Other", "body": "More."}), name="mail.jsonl")
    place = place_of(reading.places, reading.text.index("The budget"), reading.text.index("More.") + 5)
    assert place is not None
    assert (place.kind, place.label) == ("message", "1-2")
    assert reading.title == "Q3 budget; Other"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {
                "name": "Family",
                "messages": [{"from": "Ann", "date": "2024-05-06", "text": ["See ", {"text": "this"}, "."]}],
            },
            "## Family\n\nFrom: Ann; Date: 2024-05-06\n\nSee this.",
        ),
        (
            {
                "from": {"emailAddress": {"name": "Ann", "address": "a@x.org"}},
                "body": {"content": "<p>Hi <b>you</b></p>"},
            },
            "From: Ann <a@x.org>\n\nHi you",
        ),
        ({"headers": {"From": "a@x.org", "Subject": "S"}, "body": "Text."}, "## S\n\nFrom: a@x.org\n\nText."),
        ([{"ts": "1715000000.0001", "user": "U1", "text": "Hi."}], "From: U1; Date: 2024-05-06 12:53\n\nHi."),
        ({"_id": "7", "title": "储能", "text": "成本下降。"}, "## 储能\n\n成本下降。"),
        ([{"year": 2024, "gwh": 35.5, "api_token": "x"}, {"year": 2025}], "year: 2024; gwh: 35.5\n\nyear: 2025"),
    ],
)
def test_exports_of_many_makes_are_understood(value: object, text: str):
    assert read(json.dumps(value).encode(), name="export.json").text == text


def test_lines_that_are_not_json_are_counted():
    reading = read(lines(MAIL) + b'\n{"subject": "cut o', name="mail.jsonl")
    assert "The budget" in reading.text
    assert reading.warnings == ("1 lines are not JSON and were left out",)


@pytest.mark.parametrize("raw", [b"not json at all", b"[" * 100_000, b"17", b"{}", b'{"a": ' * 5_000])
def test_what_is_no_export_is_refused(raw: bytes):
    with pytest.raises(SourceError, match=r"'a\.jsonl' is not JSON"):
        read(raw, name="a.jsonl")


def test_halves_of_characters_and_control_codes_do_not_get_into_the_text():
    raw = b'{"from": "A\\u0000", "subject": "S\\ud800", "body": "Costs\\u0007 fell.\\udfff"}'
    reading = read(raw, name="a.jsonl")
    assert reading.text == "## S\n\nFrom: A\n\nCosts fell."


def test_messages_past_the_limit_are_left_out_aloud(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.documents.readers.messages.MAX_MESSAGES", 2)
    reading = read(lines(*[MAIL] * 5), name="mail.jsonl")
    assert len(messages(reading)) == 2
    assert reading.warnings == ("only the first 2 messages were read; split the file",)


@pytest.mark.parametrize("is_array", [True, False])
def test_entries_past_the_limit_are_not_looked_at(is_array: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.documents.readers.jsonl.MAX_VALUES", 2)
    raw = json.dumps([MAIL] * 5).encode() if is_array else lines(*[MAIL] * 5)
    reading = read(raw, name="mail.jsonl")
    assert len(messages(reading)) == 2
    assert reading.warnings == ("only the first 2 of 5 entries were looked at; split the file",)


def test_an_email_is_decoded_and_its_attachments_are_named():
    reading = read(make_mail(), name="a.eml")
    assert reading.text == (
        "## 预算：第三季度\n\nFrom: 李安 <an.li@example.org>; To: 王芳 <fang@example.org>, Ann Lee <ann@example.org>;"
        " Date: Mon, 06 May 2024 10:00:00 +0800; Files: 预算.pdf\n\n"
        "王芳，\n\n成本下降了 12%。\n\n李安\n\nQuoted:\n\n成本如何？"
    )
    assert (reading.title, reading.author, reading.published) == ("预算：第三季度", "李安", "2024-05-06")
    assert reading.warnings == ("attachments were not read: 预算.pdf",)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (
            b"Subject: =?gb2312?B?1KTL4w==?=\nContent-Type: text/html; charset=gb2312\n\n"
            + "<p>成本下降了。</p><p style='display:none'>Secret</p>".encode("gb2312"),
            "## 预算\n\n成本下降了。",
        ),
        ("Subject: 电池的成本\n\n成本在下降。".encode("gb18030"), "## 电池的成本\n\n成本在下降。"),
        (b"Subject: x\nContent-Type: text/plain; charset=no-such\n\nText.", "## x\n\nText."),
        (b"Subject: =?utf-8?B?a?=\n\nText.", "## =?utf-8?B?a?=\n\nText."),
        (b"From: a@x.org\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nText.", "From: a@x.org\n\nText."),
    ],
)
def test_emails_with_odd_parts_are_read(raw: bytes, text: str):
    assert read(raw, name="a.eml").text == text


def test_a_mailbox_gives_each_message_and_quotes_it_once():
    second = (
        b"From bob Mon May  6 11:00:00 2024\nFrom: Bob <b@x.org>\nSubject: Re: budget\n\nI agree.\n"
        b">From now on we save.\n\nOn Mon, 6 May 2024, Ann Lee wrote:\n> The budget is $1.2M.\n> It was never sent.\n"
    )
    first = b"From ann Mon May  6 10:00:00 2024\nFrom: Ann Lee <a@x.org>\nSubject: budget\n\nThe budget is $1.2M.\n\n"
    reading = read(first + second, name="a.mbox")
    assert reading.text == (
        "## budget\n\nFrom: Ann Lee <a@x.org>\n\nThe budget is $1.2M.\n\n## Re: budget\n\nFrom: Bob <b@x.org>\n\n"
        "I agree.\nFrom now on we save.\n\nQuoted:\n\nOn Mon, 6 May 2024, Ann Lee wrote:\nIt was never sent."
    )
    assert messages(reading) == ["1, budget (Ann Lee)", "2, Re: budget (Bob)"]
    assert (reading.title, reading.author) == ("budget", "Ann Lee, Bob")


def test_a_large_mailbox_is_cut_with_a_remark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.documents.readers.mbox.MAX_MESSAGES", 3)
    raw = b"From a Mon May  6 10:00:00 2024\nSubject: x\n\nText.\n\n" * 50
    reading = read(raw, name="a.mbox")
    assert len(messages(reading)) == 3
    assert reading.warnings == ("only the first 3 of 50 messages were read; split the mailbox",)


def test_a_mailbox_of_one_mail_without_envelope_is_read_and_prose_is_refused():
    assert read(make_mail(), name="a.mbox").title == "预算：第三季度"
    for name in ("a.mbox", "a.eml"):
        with pytest.raises(SourceError, match="is not an e-mail"):
            read(b"Just some words.", name=name)


def test_a_message_nested_without_end_is_refused_and_costs_a_mailbox_nothing_else():
    nested = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(2_000))
    with pytest.raises(SourceError, match=r"'a\.eml' is damaged"):
        read(b"Subject: x\n" + nested, name="a.eml")
    envelope = b"From a Mon May  6 10:00:00 2024\n"
    reading = read(envelope + b"Subject: x\n" + nested + b"\n\n" + envelope + b"Subject: y\n\nText.", name="a.mbox")
    assert reading.text == "## y\n\nText."
    assert reading.warnings == ("1 messages cannot be taken apart and were left out",)
