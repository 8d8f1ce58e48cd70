"""Arguments, options and an exit code that several commands have."""

from typing import Annotated

from typer import Argument, Option

EXIT_NOT_VERIFIED = 3

RunId = Annotated[str, Argument(metavar="RUN", help="Id of the run, or its first characters.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Events = Annotated[
    str | None,
    Option("--events", metavar="FILE", help="Write events as NDJSON; - writes them to stdout instead of the report."),
]
Quiet = Annotated[bool, Option("--quiet", help="Show no progress.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Show queries, sources, what it came to, and the log.")]
