"""Each package stays within a budget of tokens. A budget is raised only with a line beside it that says why."""

from pathlib import Path

from tools.count_tokens import count_tokens, python_tokens

# Tokens of Python and words of data files, by package; "." are the modules that stand alone.
BUDGETS = {
    ".": 14_250,  # every option of the command line from Python; follow-ups, updates, replays; doctor; opening files
    "cache": 3_700,  # a file, and a table that hosts share
    "charts": 3_900,  # style, fonts, the program that draws
    "cli": 22_000,  # the sandbox, exports, checks, versions, serving, accounts, schedules, workers and their figures
    "corpus": 21_700,  # an index in two databases; two folders as one; single files, contents, pages and words of files
    "evidence": 200,
    "export": 21_800,  # HTML for file and page, PDF, Word, JSON-LD, three formats of references, a bundle, changes
    "fetch": 7_500,
    "llm": 12_100,
    "mcp_server": 5_600,  # tools, resources and progress for MCP clients
    "messages": 11_900,  # figures, the page of a report, follow-ups, changes, audits; what a server refuses; plurals
    "net": 6_800,  # what is sent to a webhook
    "pipeline": 64_800,  # a check for each kind of sentence, an editor, charts, follow-ups, updates, replays, traces
    "readers": 38_100,
    "reasoning": 73_600,  # answers first, by rules and by a model; bylines; series for charts; code has to go
    "report": 6_900,  # lists, conclusions, calculations, figures, a layout for all formats, one list of what stays open
    "sandbox": 7_550,  # two backends, a fork server, a filter of system calls, a self-test
    "search": 16_150,  # abstracts and contents that services deliver
    "server": 35_900,  # the API, the page, OpenAI's protocol, access
    "service": 43_300,  # a queue in two forms, figures of runs, accounts, limits, uploads, schedules, text for many
    "settings": 4_700,  # other providers, dates in months, the sandbox, the server, mail
    "shared_limits": 1_700,  # slots and turns that processes share
    "sources": 4_500,  # what a service delivered, dates in months
    "store": 19_200,  # two databases; runs chosen by user, words, tag and page; what a queue of runs needs
    "text": 13_400,  # titles cut, bounds, columns, units and months of tables
    "verify": 31_500,  # calculations by steps, absences, rows, figures; audits of any report; bundles; changes
    "wiring": 5_700,  # the next provider, the sandbox, traces, a cache in two forms
}


def test_every_package_stays_within_its_budget():
    over = {name: count for name, count in count_tokens().items() if count > BUDGETS.get(name, 0)}
    assert over == {}, "make it smaller, or raise its budget with the reason beside it"


def test_comments_and_line_ends_do_not_count(tmp_path: Path):
    assert python_tokens("# why\n\nif one:\n    two = 3  # because\n") == python_tokens("if one: two = 3\n") == 6
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en.toml").write_text("a = 'two words'\n", encoding="utf-8")
    assert count_tokens(tmp_path) == {"words": 4}
