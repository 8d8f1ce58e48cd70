"""Who we say we are to services and sites: the program, its version and somebody to turn to, as Wikimedia asks."""

# The project's own address, as in pyproject.toml.
PROJECT_ADDRESS = "https://github.com/deep-research/deep-research"


def user_agent(contact: str) -> str:
    """Return the value of the header User-Agent; `contact` is a mail address or a web address."""
    return f"deep-research/0.1 (research agent; {contact})"


def mail_of(contact: str) -> str:
    """Return the contact where it is a mail address, "" where it is a web address, for services that take only mail."""
    return "" if "://" in contact else contact
