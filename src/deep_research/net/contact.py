"""Who we say we are to services and sites: the program, its version and somebody to turn to, as Wikimedia asks."""

from typing import Final

# Where the program is had from, by the command that its own messages give (`pip install deep-research`).
PROJECT_ADDRESS: Final = "https://pypi.org/project/deep-research/"


def user_agent(contact: str) -> str:
    """Return the value of the header User-Agent; `contact` is a mail address or a web address."""
    return f"deep-research/0.1 (research agent; {contact})"


def mail_of(contact: str) -> str:
    """Return the contact where it is a mail address, "" where it is a web address, for services that take only mail."""
    return "" if "://" in contact else contact
