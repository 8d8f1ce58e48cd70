"""`make bench`: every measurement, one table each."""

import asyncio

from benchmarks import command_line, corpus, model_use, page_reading, store_size, web_search, within_a_run


def main() -> None:
    """Print all measurements."""
    command_line.report()
    asyncio.run(within_a_run.report())
    asyncio.run(model_use.report())
    asyncio.run(store_size.report())
    asyncio.run(page_reading.report())
    asyncio.run(web_search.report())
    corpus.report()


if __name__ == "__main__":
    main()
