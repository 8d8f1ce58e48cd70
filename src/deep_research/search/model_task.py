"""What a model that can search by itself is asked: to look for pages, and to cite each of them."""

from deep_research.search.engine import words_of, words_with_sites
from deep_research.sources.hit import SearchQuery

_TASK = "Search the web for what is asked below and cite every page that helps to answer it, up to {size} pages."


def task_of(query: SearchQuery, *, size: int, names_sites: bool = False) -> str:
    """Return the task for a query; `names_sites` puts its sites into the words, where no field takes them."""
    lines = [_TASK.format(size=size)]
    if query.since:
        lines.append(f"Use only pages published on or after {query.since}.")
    if query.until:
        lines.append(f"Use only pages published on or before {query.until}.")
    if query.language:
        lines.append(f"Prefer pages in the language {query.language}.")
    return "\n".join([*lines, "", words_with_sites(query) if names_sites else words_of(query)])
