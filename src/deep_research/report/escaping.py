r"""Plain text as Markdown that shows exactly this text, and back: the one place that knows which signs are markup.

Nothing is deleted but controls: a backslash stands before a sign that a renderer (CommonMark, GitHub, VS Code) would
take as markup, and nowhere else, so that "5 * 3", "a_b", "$5" and "AT&T" stay as they are.
"""

import re

from deep_research.text.cleaning import clean_text

_LINE_BREAK = re.compile(r"\s*\n\s*")
_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_ESCAPED = re.compile(rf"\\({_PUNCTUATION})")
# Emphasis and strike-through depend on what stands on both sides of a run.
_RUN = re.compile(r"\*+|_+|~+")
_MARKUP = re.compile(
    rf"""
      \\(?={_PUNCTUATION}|$)               # would take the next sign's meaning, or break the line
    | `                                    # code
    | <(?=[A-Za-z/!?]|[^\s<>]*@|$)         # a tag, a comment, an address in angle brackets; not "<5 %"
    | &(?=(?:\#\d{{1,7}}|\#[xX][\da-fA-F]{{1,6}}|[A-Za-z][A-Za-z\d]{{0,31}})(?:;|$))  # a character by its name
    | \[(?=\d{{1,4}}\])                    # would look like one of our citations
    | \](?=\()                             # a link or an image
    | \^(?=\[)                             # a footnote
    | (?<=\S)\$(?!\d)                      # the end of a formula; a price is none
    | /(?=/\w) | (?<=[wW]{{3}})\.(?=\w) | (?<=[\w.+-])@(?=[\w-]+\.)   # addresses that become links by themselves
    """,
    re.VERBOSE,
)
_BLOCK_START = re.compile(
    r"""
      (?=>|\|)                             # a quotation, a table
    | (?=[-+](?:\s|$)|-[-\s]*$)            # a list, a rule
    | \d{1,9}(?=[.)](?:\s|$))              # a numbered list
    | (?=\#{1,6}(?:\s|$))                  # a heading
    | (?=\[.*\]:|\[[\sxX]\](?:\s|$))       # the address of a link or a footnote, a box to tick
    """,
    re.VERBOSE,
)
_HEADING_END = re.compile(r"(?:(?<=\s)|^)(?=#+$)")
_WEB = re.compile(r"https?://", re.IGNORECASE)
_ENTITY = re.compile(r"(&#?\w+);")
# What would begin markup in an address or end it; "_" between letters and before brackets does neither.
_NOT_IN_ADDRESS = re.compile(r"[\s<>\"\\`*|]|(?<![^\W_])_+|~~+|\](?=\()|\$(?!\d)")
_BACKTICKS = re.compile(r"`{3,}")


def escape(text: str) -> str:
    """Return a text as Markdown inside a line, on one line."""
    return _escape(one_line(text))


def escape_line(text: str) -> str:
    """Return a text as Markdown that stands at the start of a line or of a list item."""
    escaped = escape(text)
    begin = _BLOCK_START.match(escaped)
    return escaped if not begin else f"{escaped[: begin.end()]}\\{escaped[begin.end() :]}"


def escape_heading(text: str) -> str:
    """Return a text as the words of a heading."""
    return _HEADING_END.sub(r"\\", escape(text))


def escape_cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return escape(text).replace("|", r"\|")


def escape_address(address: str) -> str:
    """Return an address as it stands in the references; one that is not of the web is shown as text, never a link."""
    line = one_line(address)
    if not _WEB.match(line):
        return _escape(line)
    return _NOT_IN_ADDRESS.sub(_encoded, _ENTITY.sub(r"\1%3B", line))


def fence(text: str) -> str:
    """Return a long text as it is, in a block of code, which no renderer looks into."""
    clean = clean_text(text).strip("\n")
    rail = "`" * max((len(run) + 1 for run in _BACKTICKS.findall(clean)), default=3)
    return f"{rail}text\n{clean}\n{rail}"


def unescape(text: str) -> str:
    """Return the text that a line of Markdown shows: the inverse of `escape`, `escape_line` and `escape_cell`."""
    return _ESCAPED.sub(r"\1", text)


def without_escaped(text: str) -> str:
    """Return Markdown with blanks for its escaped signs, so that every sign that is left is markup."""
    return _ESCAPED.sub("  ", text)


def one_line(text: str) -> str:
    """Return a text without controls, line breaks and blanks at its ends: what a reader of its Markdown sees."""
    return _LINE_BREAK.sub(" ", clean_text(text)).strip()


def _escape(line: str) -> str:
    return _RUN.sub(_escaped_run, _MARKUP.sub(r"\\\g<0>", line))


def _escaped_run(match: re.Match[str]) -> str:
    run, (start, end) = match.group(), match.span()
    before, after = match.string[start - 1 : start], match.string[end : end + 1]
    if run[0] == "_":
        is_markup = not before.isalnum() and not after.isspace()
    elif run[0] == "*":
        is_markup = not before.isspace() or not after.isspace()
    else:
        # "~5 %" begins what only another one behind a letter could end; three or more begin a block of code.
        is_markup = len(run) > 2 or not (before.isspace() or not before)
    return "".join(f"\\{sign}" for sign in run) if is_markup else run


def _encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode())
