"""What a model that can search by itself is asked: to look for pages, and to cite each of them."""

from deep_research.web.search.engine import PageQuery

_TASK = "Search the web for what is asked below and cite every page that helps to answer it, up to {size} pages."


def task_of(query: PageQuery, *, names_sites: bool = False) -> str:
    """Return the task for a query; `names_sites` puts its sites into the words, where no field takes them."""
    lines = [_TASK.format(size=query.size)]
    if query.since:
        lines.append(f"Use only pages published on or after {query.since}.")
    if query.until:
        lines.append(f"Use only pages published on or before {query.until}.")
    if query.language:
        lines.append(f"Prefer pages in the language {query.language}.")
    return "\n".join([*lines, "", query.words_with_sites if names_sites else query.words])
