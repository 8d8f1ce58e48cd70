"""The list of tools, with what a model is told about each."""

from deep_research.mcp_server import tools
from deep_research.mcp_server.library import FetchedItem, SearchResults
from deep_research.mcp_server.tools import ToolSpec

INSTRUCTIONS = """\
Deep Research answers questions that need many sources. It plans, searches the web and the user's documents, reads, and
writes a report in Markdown whose sentences carry numbered citations, each checked against a stored passage.

Call research with a whole question. It takes from seconds to many minutes: if the answer says that it is under way,
call research_status with the run's id until it is done. If it asks something back, put the question to the user and
pass the answer on with answer. Quote reports with their citation numbers and sources.

search and fetch look through what is there already: finished reports, the sources read for them, and the user's
documents. Try them before starting a new research on the same subject.
"""

TOOLS = tuple(
    ToolSpec(name, title, " ".join(about.split()), takes, gives, work, is_read_only)
    for name, title, about, takes, gives, work, is_read_only in (
        (
            "research",
            "Research a question",
            """Research a question thoroughly and return a report with checked citations. Use it for questions that
            need several sources, comparison or up-to-date facts; not for what you know or for small talk. Waits up to
            wait_seconds and tells progress meanwhile. Returns the report; or a question to the user (pass the answer
            on with answer); or, if it takes longer, the run's id for research_status. The research goes on if you stop
            waiting.""",
            tools.ResearchArguments,
            tools.RunState,
            tools.research,
            False,
        ),
        (
            "research_status",
            "Where a research stands",
            """Wait for a research that was started earlier and return its report, its question to the user, or that it
            is still under way. Call it again as long as it is.""",
            tools.StatusArguments,
            tools.RunState,
            tools.research_status,
            True,
        ),
        (
            "answer",
            "Answer a question of a research",
            """Answer what a research asked (its status is 'waiting') and wait for it to go on, like research does. The
            answer is the number of an option or words of the user; 'start now' lets it begin without one.""",
            tools.AnswerArguments,
            tools.RunState,
            tools.answer,
            False,
        ),
        (
            "report",
            "Read a report",
            """Return the report of a finished research, whole or one section by its title, as Markdown with numbered
            citations or as JSON with sections, citations and sources apart.""",
            tools.ReportArguments,
            tools.Report,
            tools.report,
            True,
        ),
        (
            "cancel",
            "Cancel a research",
            """Stop a research that is under way or waits for an answer. What it has found so far is kept.""",
            tools.CancelArguments,
            tools.RunState,
            tools.cancel,
            False,
        ),
        (
            "search",
            "Search reports, sources and documents",
            """Find finished reports, sources that were read for them, and the user's own documents by a few words.
            Searches only what is there already and starts no research. Returns ids for fetch.""",
            tools.SearchArguments,
            SearchResults,
            tools.search,
            True,
        ),
        (
            "fetch",
            "Read a report, source or document",
            """Return the whole text of something that search found, by its id.""",
            tools.FetchArguments,
            FetchedItem,
            tools.fetch,
            True,
        ),
    )
)
