"""GitHub's repositories and issues, after docs.github.com/en/rest/search/search."""

from typing import ClassVar

from deep_research.web.net.service import LimitedService
from deep_research.web.search.engine import Page, PageQuery, ServiceSearch, results_in

# Longer queries are refused; the qualifiers we add count as well.
_MAX_CHARS = 256


class GitHubSearch(ServiceSearch):
    """Repositories, which a key lets one search more often."""

    page_size = 100
    service_type = LimitedService
    fixed_headers = (("Accept", "application/vnd.github+json"), ("X-GitHub-Api-Version", "2022-11-28"))
    path: ClassVar[str] = "/search/repositories"
    qualifier: ClassVar[str] = ""
    # A repository lives on after the day of its making, an issue is of its day.
    date_qualifier: ClassVar[str] = "pushed"
    fields: ClassVar[tuple[str, ...]] = ("html_url", "full_name", "description", "pushed_at")

    async def page(self, query: PageQuery) -> Page:
        ending = self.qualifier
        if query.since or query.until:
            ending += f" {self.date_qualifier}:{query.since or '*'}..{query.until or '*'}"
        asked = query.words[: _MAX_CHARS - len(ending)].rstrip() + ending
        data = await self.service.get_json(
            self.path, params={"q": asked, "per_page": query.size, "page": query.number + 1}
        )
        return Page(results_in(self.items_at(data, "items"), *self.fields))


class GitHubIssueSearch(GitHubSearch):
    """Issues of all repositories."""

    path = "/search/issues"
    qualifier = " is:issue"
    date_qualifier = "created"
    fields = ("html_url", "title", "body", "created_at")
