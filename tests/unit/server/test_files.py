"""Names of files that are sent: they fit every file system and every header, whatever the title."""

import string
from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.server.api.files import disposition, file_name, safe_media_type


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("What did it cost?", "What did it cost.pdf"),
        ("海绵城市：效果如何？", "海绵城市：效果如何？.pdf"),
        ("../../etc/passwd", "etc passwd.pdf"),
        ("a\u202efdp.exe", "a fdp.exe.pdf"),
        ("CON", "report CON.pdf"),
        ("...", "report.pdf"),
        ("", "report.pdf"),
        ("x" * 300, "x" * 80 + ".pdf"),
    ],
)
def test_names_are_readable_and_safe(title, name):
    assert file_name(title, "pdf") == name


@given(st.text(max_size=300))
def test_any_title_makes_a_header_that_clients_read_as_the_same_name(title):
    name = file_name(title, "pdf")
    header = disposition(name)
    assert set(header) <= set(string.printable) - set("\r\n\t\x0b\x0c")
    message = Message()
    message["Content-Disposition"] = header
    assert message.get_content_disposition() == "attachment"
    assert not set(name) & set('/\\:*?"<>|\0')
    assert not name.startswith(".")


@pytest.mark.parametrize("claimed", ["text/html\r\nSet-Cookie: a=b", "", "text", "a/b/c", "图/片"])
def test_a_claimed_type_that_is_none_is_bytes(claimed):
    assert safe_media_type(claimed) == "application/octet-stream"


def test_parameters_of_a_type_are_left_out():
    assert safe_media_type("text/html; charset=gbk") == "text/html"
