"""Wikipedia and the libraries of papers pass the suite of the search port; what is special to each beside it."""

from collections.abc import Sequence
from datetime import date
from urllib.parse import quote
from xml.sax.saxutils import escape

import pytest

from deep_research.errors import SourceBusy, SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.value import Json
from deep_research.web.search.engine import connect
from deep_research.web.search.registry import ENGINES
from tests.contract.search_identities import IdentityConformance, IdentityVoice
from tests.support.search_formats import Result
from tests.support.search_server import Answer, Asked, Script, SearchServer
from tests.support.search_suite import CHINESE, KEY, QUERY, SearchConformance, Voice


async def found(engine: str, script: Script | Answer, query: SearchQuery, *, limit: int = 3, key: str = ""):
    """Return hits and requests of one search."""
    with SearchServer(script) as server:
        hits = await connect(ENGINES[engine], address=server.address, key=key, timeout_s=60).search(query, limit=limit)
    return hits, server.requests


def part(asked: Asked, results: Sequence[Result], *, size: str, start: str):
    """Return those of the results that a request asks for."""
    first = int(asked.params.get(start, 0))
    return results[first : first + int(asked.params[size])]


class WikipediaVoice(IdentityVoice):
    engine = "wikipedia"
    tells_published = False

    def identity(self, number, result):
        return result.title

    def built(self, identity):
        return "/" + quote(identity.replace(" ", "_"), safe="/:(),")

    def reply(self, asked, results):
        told = part(asked, results, size="srlimit", start="sroffset")
        after = int(asked.params["sroffset"]) + len(told)
        items = [
            {"ns": 0, "title": self.identify(result) and result.title, "pageid": 7, "snippet": result.snippet}
            for result in told
        ]
        more = {"continue": {"sroffset": after, "continue": "-||"}} if after < len(results) else {}
        return Answer(
            {"batchcomplete": True, **more, "query": {"searchinfo": {"totalhits": len(results)}, "search": items}}
        )

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/w/api.php")
        variant = {"variant": "zh-tw"} if query is CHINESE else {}
        assert call.params == {
            "action": "query",
            "list": "search",
            "srsearch": query.query,
            "srlimit": "3",
            "sroffset": "0",
            "srprop": "snippet",
            "format": "json",
            "formatversion": "2",
            **variant,
        }

    def check_filters(self, asked):
        assert asked[0].params["variant"] == "zh-cn"


class TestWikipedia(IdentityConformance):
    voice = WikipediaVoice()

    @pytest.mark.parametrize(
        ("words", "language", "ending"),
        [
            ("solar power", "", "/en/wiki/Solar_power"),
            ("太阳能发电", "", "/zh/zh-cn/Solar_power"),
            ("太陽能發電", "", "/zh/zh-tw/Solar_power"),
            ("太陽能發電", "zh-Hans", "/zh/zh-cn/Solar_power"),
            ("énergie solaire", "fr", "/fr/wiki/Solar_power"),
            ("solar", "../../x", "/en/wiki/Solar_power"),
        ],
    )
    async def test_language_chooses_wiki_and_script(self, words, language, ending):
        item = {"ns": 0, "title": "Solar power", "pageid": 7, "snippet": ""}
        with SearchServer(Answer({"batchcomplete": True, "query": {"search": [item]}})) as server:
            engine = connect(ENGINES["wikipedia"], address=server.address + "/{language}")
            hits = await engine.search(SearchQuery(query=words, language=language), limit=3)
        assert hits[0].address == server.address + ending

    async def test_error_told_with_status_200_is_an_error(self):
        for code, kind in (("ratelimited", SourceBusy), ("badvalue", SourceError)):
            with pytest.raises(kind, match="Wikipedia"):
                await found("wikipedia", Answer({"error": {"code": code, "info": "No.", "docref": "See."}}), QUERY)


_FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
  <title type="html">ArXiv Query</title><id>http://arxiv.org/api/abc</id><updated>2024-06-01T00:00:00-04:00</updated>
  <opensearch:totalResults>{total}</opensearch:totalResults>{entries}
</feed>"""
_ENTRY = """<entry><id>{address}</id><updated>2025-01-01T00:00:00Z</updated><published>{published}T17:59:59Z</published>
  <title>{title}</title><summary>  {summary}
</summary><author><name>A. Author</name></author><link href="{address}" rel="alternate" type="text/html"/></entry>"""


class ArxivVoice(IdentityVoice):
    engine = "arxiv"

    def identity(self, number, result):
        return f"2405.{number:05d}"

    def built(self, identity):
        return f"https://arxiv.org/abs/{identity}"

    def reply(self, asked, results):
        told = part(asked, results, size="max_results", start="start")
        entries = [
            _ENTRY.format(
                address=f"http://arxiv.org/abs/{identity}v2" if (identity := self.identify(result)) else "",
                published=result.published,
                title=escape(result.title),
                summary=escape(result.snippet),
            )
            for result in told
        ]
        return Answer(_FEED.format(total=len(results), entries="".join(entries)).encode())

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/api/query")
        words = ("台灣", "太陽能", "2024", "年裝機容量") if query is CHINESE else ("solar", "power", "Kenya")
        assert call.params == {
            "search_query": " AND ".join(f'all:"{word}"' for word in words),
            "start": "0",
            "max_results": "3",
            "sortBy": "relevance",
            "sortOrder": "descending",
        }

    def check_filters(self, asked):
        assert asked[0].params["search_query"] == (
            '(all:"solar" AND all:"power") AND submittedDate:[202401150000 TO 202406302359]'
        )

    def wrong_answers(self):
        error = _ENTRY.format(
            address="http://arxiv.org/api/errors#incorrect_id_format", title="Error", summary="", published="2024-01-01"
        )
        shapes = (_FEED.format(total=1, entries=error), "<rss><channel/></rss>", "<?xml version='1.0'?><html/>")
        return [*super().wrong_answers(), *(Answer(shape.encode()) for shape in shapes)]


class TestArxiv(IdentityConformance):
    voice = ArxivVoice()

    @pytest.mark.parametrize(
        ("words", "ids"),
        [
            ("arXiv:2405.00001v2", "2405.00001v2"),
            ("What does https://arxiv.org/abs/1706.03762 claim?", "1706.03762"),
            ("compare hep-th/9901001 and 2405.00001.", "hep-th/9901001,2405.00001"),
            ("论文2405.00001讲了什么", "2405.00001"),
        ],
    )
    async def test_number_in_the_query_gives_that_paper(self, words, ids):
        entry = _ENTRY.format(
            address="http://arxiv.org/abs/2405.00001v2", title="One", summary="Two", published="2024-05-01"
        )
        answer = Answer(_FEED.format(total=1, entries=entry).encode())
        hits, asked = await found("arxiv", answer, SearchQuery(query=words))
        assert [hit.address for hit in hits] == ["https://arxiv.org/abs/2405.00001"]
        assert asked[0].params["id_list"] == ids
        assert "search_query" not in asked[0].params

    @pytest.mark.parametrize("words", ["sales of 2024.12345678", "GDP 2099.1 in 1990", "version 1.2405.00001"])
    async def test_other_numbers_are_words(self, words):
        _, asked = await found("arxiv", Answer(_FEED.format(total=0, entries="").encode()), SearchQuery(query=words))
        assert "id_list" not in asked[0].params

    async def test_many_words_need_not_all_be_there(self):
        query = SearchQuery(query='how do "large" language models change chip design and power grids AND not OR')
        _, asked = await found("arxiv", Answer(_FEED.format(total=0, entries="").encode()), query)
        assert asked[0].params["search_query"] == " OR ".join(
            f'all:"{word}"' for word in "large language models change chip design power grids".split()
        )

    async def test_feed_cannot_reach_into_this_machine(self, tmp_path):
        (tmp_path / "secret").write_text("very-secret")
        entry = _ENTRY.format(
            address="http://arxiv.org/abs/2405.00001", title="&x;", summary="&x;", published="2024-05-01"
        )
        declared = f'<!DOCTYPE feed [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">]><feed'
        text = _FEED.format(total=1, entries=entry).replace("<feed", declared, 1)
        hits, _ = await found("arxiv", Answer(text.encode()), QUERY)
        assert "very-secret" not in str(hits)


class OpenAlexVoice(Voice):
    engine = "openalex"

    def reply(self, asked, results):
        size, number = (int(asked.params[name]) for name in ("per_page", "page"))
        told = results[(number - 1) * size : number * size]
        return Answer(
            {
                "meta": {"count": len(results), "page": number, "per_page": size},
                "results": [
                    {
                        # Without the two places that every work of the catalogue has and that stand in for others.
                        "id": None,
                        "doi": None,
                        "title": result.title,
                        "publication_date": result.published,
                        "abstract_inverted_index": _index(result.snippet),
                        "best_oa_location": {"landing_page_url": result.address, "pdf_url": None, "is_oa": True},
                    }
                    for result in told
                ],
                "group_by": [],
            }
        )

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/works")
        assert "authorization" not in call.headers
        assert call.params == {
            "search": query.query,
            "per_page": "3",
            "page": "1",
            "select": "id,doi,title,publication_date,abstract_inverted_index,best_oa_location,primary_location",
            "api_key": KEY,
        }

    def check_filters(self, asked):
        assert asked[0].params["filter"] == (
            "from_publication_date:2024-01-15,to_publication_date:2024-06-30,language:zh"
        )


def _index(text: str):
    words = text.split(" ")
    return {word: [place for place, other in enumerate(words) if other == word] for word in words}


class TestOpenAlex(SearchConformance):
    voice = OpenAlexVoice()

    @pytest.mark.parametrize(
        ("work", "address"),
        [
            ({"best_oa_location": {"pdf_url": "https://a.test/p.pdf"}}, "https://a.test/p.pdf"),
            ({"best_oa_location": None, "doi": "https://doi.org/10.1/x"}, "https://doi.org/10.1/x"),
            ({"best_oa_location": {"pdf_url": "ftp://a"}, "doi": "https://doi.org/10.1/x"}, "https://doi.org/10.1/x"),
            (
                {"doi": None, "primary_location": {"landing_page_url": "https://b.test/"}, "id": "https://c.test"},
                "https://b.test/",
            ),
            ({"doi": None, "primary_location": None, "id": "https://openalex.org/W1"}, "https://openalex.org/W1"),
        ],
    )
    async def test_open_place_comes_before_doi_before_the_catalogue(self, work, address):
        hits, _ = await found("openalex", Answer({"meta": {}, "results": [{"title": "T", **work}]}), QUERY)
        assert [(hit.address, hit.snippet) for hit in hits] == [(address, "")]

    async def test_odd_index_of_an_abstract_breaks_nothing(self):
        index = {"late": [5, "x", None], "early": [0], "never": 7, "again": [10**9]}
        work = {"id": "https://openalex.org/W1", "title": "T", "abstract_inverted_index": index}
        hits, _ = await found("openalex", Answer({"results": [work]}), QUERY)
        assert hits[0].snippet == "early late again"


class CrossrefVoice(Voice):
    engine = "crossref"

    def reply(self, asked, results):
        told = part(asked, results, size="rows", start="offset")
        items = [
            {
                "DOI": "10.5555/12345678",
                "URL": result.address,
                "title": [result.title],
                "abstract": f"<jats:title>Abstract</jats:title><jats:p>{result.snippet}</jats:p>",
                "published": {"date-parts": [[int(number) for number in result.published.split("-")]]},
            }
            for result in told
        ]
        message = {"facets": {}, "total-results": len(results), "items": items, "items-per-page": 20}
        return Answer({"status": "ok", "message-type": "work-list", "message-version": "1.0.0", "message": message})

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/works")
        assert "authorization" not in call.headers
        assert call.params == {
            "query": query.query,
            "rows": "3",
            "offset": "0",
            "select": "DOI,URL,title,abstract,published",
        }

    def check_filters(self, asked):
        assert asked[0].params["filter"] == "from-pub-date:2024-01-15,until-pub-date:2024-06-30"


class TestCrossref(SearchConformance):
    voice = CrossrefVoice()

    async def test_formulas_and_thin_records_are_read(self):
        formula = 'Mass of <mml:math xmlns:mml="x"><mml:mi>W</mml:mi></mml:math> bosons'
        items = [
            {"URL": "https://doi.org/10.1/a", "title": [formula], "published": {"date-parts": [[2021, 4]]}},
            {"URL": "https://doi.org/10.1/b", "title": [], "published": {"date-parts": [[None]]}},
            {"URL": "https://doi.org/10.1/c", "title": "text", "abstract": 5},
            {"URL": "https://doi.org/10.1/d", "title": ["D"], "published": {"date-parts": [[2019]]}},
            {"URL": "https://doi.org/10.1/e", "title": ["E"], "published": {"date-parts": [[2024, 12, 9]]}},
        ]
        hits, _ = await found("crossref", Answer({"status": "ok", "message": {"items": items}}), QUERY, limit=9)
        assert [(hit.title, hit.published) for hit in hits] == [
            ("Mass of W bosons", "2021-04"),
            ("https://doi.org/10.1/b", ""),
            ("https://doi.org/10.1/c", ""),
            ("D", "2019"),
            ("E", "2024-12-09"),
        ]

    async def test_marks_of_publishers_leave_words_and_formulas_whole(self):
        abstract = """<jats:title>Abstract</jats:title>
            <jats:sec><jats:title>Aim</jats:title><jats:p>
              <jats:list list-type="order"><jats:list-item><jats:p>Terpenes (C
                <jats:sub>10</jats:sub>
                H
                <jats:sub>16</jats:sub>
                ) over 95 km<jats:sup>2</jats:sup> of forest.</jats:p></jats:list-item>
              <jats:list-item><jats:p>Written in <jats:sc>r</jats:sc>, after
                <jats:ext-link xlink:href="#b6"/><jats:italic>Pinus</jats:italic>.</jats:p></jats:list-item></jats:list>
            </jats:p></jats:sec>"""
        work = {"URL": "https://doi.org/10.1/a", "title": ["<scp>N</scp>ote on C<sub>10</sub>H<sub>16</sub>"]}
        answer = Answer({"status": "ok", "message": {"items": [{**work, "abstract": abstract}]}})
        (hit,), _ = await found("crossref", answer, QUERY)
        assert hit.title == "Note on C10H16"
        assert hit.snippet == "Terpenes (C10H16) over 95 km2 of forest. Written in r, after Pinus."


class PubMedVoice(IdentityVoice):
    engine = "pubmed"
    calls_per_page = 2

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, Result] = {}

    def identity(self, number, result):
        return str(38_000_000 + number)

    def built(self, identity):
        return f"https://pubmed.ncbi.nlm.nih.gov/{identity}/"

    def reply(self, asked, results):
        head = {"type": asked.path.rsplit("/")[-1].removesuffix(".fcgi"), "version": "0.3"}
        if "esearch" in asked.path:
            told = part(asked, results, size="retmax", start="retstart")
            # A number whose article is gone stands for a result without an address.
            ids = [self.identify(result) or f"1{place}" for place, result in enumerate(told)]
            self.told = dict(zip(ids, told, strict=True))
            first = asked.params["retstart"]
            answer = {"count": str(len(results)), "retmax": str(len(ids)), "retstart": first, "idlist": ids}
            return Answer({"header": head, "esearchresult": answer})
        ids = asked.params["id"].split(",")
        articles = {number: self._article(number) for number in ids}
        return Answer({"header": head, "result": {"uids": ids, **articles}})

    def _article(self, number: str):
        result = self.told[number]
        if number not in self.identities.values():
            return {"uid": number, "error": "cannot get document summary"}
        return {
            "uid": number,
            "pubdate": "2024 May 21",
            "sortpubdate": f"{result.published.replace('-', '/')} 00:00",
            "title": result.title,
            "fulljournalname": result.snippet,
            "authors": [],
        }

    def check_request(self, asked, query):
        search, summary = asked
        assert [call.path for call in asked] == ["/entrez/eutils/esearch.fcgi", "/entrez/eutils/esummary.fcgi"]
        who = {"db": "pubmed", "retmode": "json", "tool": "deep-research", "api_key": KEY}
        assert search.params == {**who, "term": query.query, "retstart": "0", "retmax": "3", "sort": "relevance"}
        assert summary.params == {**who, "id": ",".join(self.told)}

    def check_filters(self, asked):
        sent = asked[0].params
        assert sent["term"] == "(solar power) AND chinese[la]"
        assert [sent[name] for name in ("datetype", "mindate", "maxdate")] == ["pdat", "2024/01/15", "2024/06/30"]

    def wrong_answers(self):
        shapes = ({"esearchresult": {"ERROR": "Invalid query"}}, {"esearchresult": {"idlist": ["12", "../13"]}})
        return [*super().wrong_answers(), *(Answer(shape) for shape in shapes)]


class TestPubMed(IdentityConformance):
    voice = PubMedVoice()

    async def test_journal_and_authors_stand_for_the_abstract(self):
        article = {
            "uid": "12",
            "title": "T",
            "fulljournalname": "Nature",
            "authors": [{"name": name} for name in ("Wang L", "Meyer A", "Otieno B", "Diaz C")],
        }

        def script(asked):
            if "esearch" in asked.path:
                return Answer({"esearchresult": {"idlist": ["12"]}})
            return Answer({"result": {"uids": ["12"], "12": article}})

        hits, _ = await found("pubmed", script, SearchQuery(query="q", until=date(1950, 1, 1)))
        assert hits[0].snippet == "Nature. Wang L, Meyer A, Otieno B et al."

    async def test_time_with_only_an_end_begins_before_the_first_journal(self):
        answer = Answer({"esearchresult": {"idlist": []}})
        _, asked = await found("pubmed", answer, SearchQuery(query="q", until=date(1950, 1, 1)))
        assert (asked[0].params["mindate"], asked[0].params["maxdate"]) == ("1800/01/01", "1950/01/01")


class SemanticScholarVoice(Voice):
    engine = "semantic-scholar"

    def reply(self, asked, results):
        told = part(asked, results, size="limit", start="offset")
        first = int(asked.params["offset"])
        if not results:
            return Answer({"total": 0, "offset": 0})
        after = first + len(told)
        items = [
            {
                "paperId": "649def34f8be52c8b66281af98ae884c09aef38b",
                "externalIds": {"CorpusId": 1},
                "url": result.address,
                "title": result.title,
                "abstract": result.snippet,
                "year": 2024,
                "openAccessPdf": {"url": "", "status": None},
                "publicationDate": result.published,
            }
            for result in told
        ]
        return Answer(
            {"total": len(results), "offset": first, **({"next": after} if after < len(results) else {}), "data": items}
        )

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/graph/v1/paper/search")
        assert call.headers["x-api-key"] == KEY
        assert call.params == {
            "query": query.query,
            "offset": "0",
            "limit": "3",
            "fields": "title,abstract,url,year,publicationDate,openAccessPdf,externalIds",
        }

    def check_filters(self, asked):
        assert asked[0].params["publicationDateOrYear"] == "2024-01-15:2024-06-30"


class TestSemanticScholar(SearchConformance):
    voice = SemanticScholarVoice()

    @pytest.mark.parametrize(
        ("paper", "address"),
        [
            ({"externalIds": {"ArXiv": "1706.03762", "DOI": "10.1/x"}}, "https://arxiv.org/abs/1706.03762"),
            (
                {"openAccessPdf": {"url": "https://a.test/p.pdf"}, "externalIds": {"DOI": "10.1/x"}},
                "https://a.test/p.pdf",
            ),
            ({"openAccessPdf": None, "externalIds": {"DOI": "10.1/x"}}, "https://doi.org/10.1/x"),
        ],
    )
    async def test_free_place_comes_before_doi(self, paper, address):
        data = {"total": 1, "data": [{"url": "https://s.test/", "title": "T", "year": 2017, **paper}]}
        hits, asked = await found("semantic-scholar", Answer(data), SearchQuery(query="GLP-1 weight-loss"))
        assert [(hit.address, hit.published) for hit in hits] == [(address, "2017")]
        assert asked[0].params["query"] == "GLP 1 weight loss"


@pytest.mark.parametrize("engine", ["openalex", "crossref", "pubmed", "semantic-scholar"])
async def test_key_is_not_needed_and_leaves_no_trace(engine):
    answers: dict[str, Json] = {"pubmed": {"esearchresult": {"idlist": []}}, "crossref": {"message": {"items": []}}}
    answer = Answer(answers.get(engine, {"results": [], "data": []}))
    hits, asked = await found(engine, answer, QUERY)
    assert hits == []
    assert not {"api_key", "mailto", "email"} & set(asked[0].params)
    assert not {"authorization", "x-api-key"} & set(asked[0].headers)


@pytest.mark.parametrize(("engine", "field"), [("openalex", "mailto"), ("crossref", "mailto"), ("pubmed", "email")])
async def test_contact_is_told_where_it_is_asked_for(engine, field):
    answers: dict[str, Json] = {"pubmed": {"esearchresult": {"idlist": []}}, "crossref": {"message": {"items": []}}}
    for contact, given in (("me@example.org", "me@example.org"), ("https://example.org/bot", None)):
        with SearchServer(Answer(answers.get(engine, {"results": []}))) as server:
            await connect(ENGINES[engine], address=server.address, contact=contact).search(QUERY, limit=3)
        assert server.requests[0].params.get(field) == given
        assert server.requests[0].headers["user-agent"].endswith(f"; {contact})")
