"""`make bench`: every measurement, one table each; those of whole runs first, as they must begin in a small process."""

import asyncio

from benchmarks import databases, whole_run


def main() -> None:
    """Print all measurements."""
    whole_run.report()
    print()
    databases.report()
    from benchmarks import chart_sandbox, command_line, corpus, exports, page_reading, server, store_size, web_search

    print()
    command_line.report()
    asyncio.run(store_size.report())
    asyncio.run(page_reading.report())
    asyncio.run(web_search.report())
    corpus.report()
    asyncio.run(chart_sandbox.report())
    asyncio.run(exports.report())
    server.report()


if __name__ == "__main__":
    main()
