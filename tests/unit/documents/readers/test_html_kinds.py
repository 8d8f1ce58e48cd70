"""Pages that are no articles: threads keep their posts, lists their items, pages in boxes all their boxes."""

from typing import NamedTuple

import pytest

from deep_research.documents.readers import read
from deep_research.documents.readers.html import MUCH_LEFT_OUT

FRAME = """<!doctype html><html><head><title>{title}</title></head><body>
<div class="top-nav"><a href="/">{margin}</a> <a href="/a">{margin} A</a> <a href="/b">{margin} B</a></div>{body}
<div id="page-footer"><p>{margin} C</p></div></body></html>"""


class Words(NamedTuple):
    """What the pages say in one language."""

    margin: str
    authors: tuple[str, ...]
    posts: tuple[str, ...]
    date: str
    panel: tuple[str, str]
    related: str
    other: str


ENGLISH = Words(
    margin="All boards",
    authors=("miller77", "Ann Lee", "gridfan"),
    posts=(
        "How long does a home battery last when it is charged and emptied once a day? Mine is five years old.",
        "Ours lost a tenth of its capacity in six years. The maker promises seventy percent after ten years.",
        "It depends on the temperature. In a cellar at fifteen degrees the cells age at half the speed.",
    ),
    date="Posted March {day}, 2024",
    panel=("Member since 2019", "Posts: 1,204"),
    related="Similar threads",
    other="Which inverter for twelve panels on a flat roof in the north",
)
CHINESE = Words(
    margin="全部版块",
    authors=("老王头", "李安妮", "电网迷"),
    posts=(
        "家用电池每天充放电一次，能用多少年？我家的已经用了五年，想知道什么时候该换。容量好像没有以前那么大了。",
        "我家的六年里容量少了一成。厂家保证十年后还有百分之七十，超过这个损失可以免费更换整组电池，需要保留发票。",
        "这要看温度。放在十五度的地下室里，电芯老化的速度只有阳台上的一半，夏天暴晒最伤电池，一定要通风。",
    ),
    date="发表于 2024年3月{day}日",
    panel=("注册于 2019 年", "帖子：1204"),
    related="相关帖子",
    other="平屋顶上装十二块板该选哪种逆变器，求推荐一个靠谱的牌子",
)
TRADITIONAL = CHINESE._replace(related="相關帖子", date="發表於 2024年3月{day}日")
LANGUAGES = pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["en", "zh-Hans"])
SCRIPTS = pytest.mark.parametrize("words", [ENGLISH, CHINESE, TRADITIONAL], ids=["en", "zh-Hans", "zh-Hant"])


def page(words: Words, body: str, *, title: str = "A page") -> bytes:
    return FRAME.format(title=title, margin=words.margin, body=body).encode()


def post(words: Words, number: int) -> str:
    panel = "".join(f"<li>{line}</li>" for line in words.panel)
    date = words.date.format(day=number + 1)
    return (
        f'<div class="msg"><div class="who"><b>{words.authors[number]}</b><ul>{panel}</ul></div>'
        f'<div class="what"><span>{date}</span><div>{words.posts[number]}</div></div></div>'
    )


@SCRIPTS
def test_a_thread_keeps_every_post_with_its_author(words: Words) -> None:
    posts = "".join(post(words, number) for number in range(3))
    beside = f'<div><h3>{words.related}</h3><ul><li><a href="/x">{words.other}</a></li></ul></div>'
    blocks = read(page(words, posts + beside), name="thread.html").text.split("\n\n")
    wanted = [part for number in range(3) for part in (words.authors[number], words.posts[number])]
    assert [block for block in blocks if block in wanted] == wanted
    text = "\n".join(blocks)
    assert words.panel[1] not in text
    assert words.other not in text
    assert words.margin not in text


@LANGUAGES
def test_a_list_keeps_all_its_items(words: Words) -> None:
    titles = [f"{words.posts[number % 3][:30]} {number}" for number in range(90)]
    items = "".join(f'<li><a href="/{number}">{title}</a></li>' for number, title in enumerate(titles))
    text = read(page(words, f"<h1>{words.authors[1]}</h1><ul>{items}</ul>"), name="list.html").text
    assert text.splitlines()[2:] == [f"- {title}" for title in titles]
    assert text.startswith(f"# {words.authors[1]}\n\n")


def boxes(words: Words, count: int) -> str:
    """Return boxes of which the first is marked up like an article."""
    first = "".join(f"<p>{number}. {words.posts[number % 3]}</p>" for number in range(4))
    others = "".join(
        f'<div class="card"><h3>{words.authors[n % 3]} {n}</h3><div>{n}. {words.posts[n % 3]}</div></div>'
        for n in range(4, count)
    )
    return f'<div class="hero"><article>{first}</article></div><div class="offers">{others}</div>'


@LANGUAGES
def test_a_page_in_boxes_keeps_every_box(words: Words) -> None:
    blocks = read(page(words, boxes(words, 30)), name="boxes.html").text.split("\n\n")
    headings = [f"### {words.authors[n % 3]} {n}" for n in range(4, 30)]
    assert [block for block in blocks if block.startswith("#")] == headings
    assert [block for block in blocks if not block.startswith("#")] == [f"{n}. {words.posts[n % 3]}" for n in range(30)]


def test_a_page_in_boxes_that_calls_itself_an_article_keeps_every_box() -> None:
    body = '<meta property="og:type" content="article">' + boxes(ENGLISH, 9)
    text = read(page(ENGLISH, body), name="boxes.html").text
    assert [n for n in range(9) if f"{n}. {ENGLISH.posts[n % 3]}" not in text] == []


def test_comments_below_an_article_are_left_out() -> None:
    article = "".join(f"<p>{text} {text}</p>" for text in ENGLISH.posts)
    said = "I do not agree with a word of it. " * 5
    comments = "".join(
        f'<div class="comment"><b>reader {n}</b> <time>2024-03-0{n}</time><p>{said}</p></div>' for n in range(1, 9)
    )
    body = (
        f'<meta property="og:type" content="article"><article><h1>Batteries</h1>{article}</article>'
        f'<div id="comments">{comments}</div>'
    )
    text = read(page(ENGLISH, body), name="news.html").text
    assert ENGLISH.posts[2] in text
    assert "I do not agree" not in text


def test_questions_on_buttons_stay_with_their_answers() -> None:
    asked = "".join(
        f"<div><button>Is it {word}?</button><div><p>{text}</p></div></div>"
        for word, text in zip(("safe", "cheap", "loud"), ENGLISH.posts, strict=True)
    )
    text = read(page(ENGLISH, f"<main>{asked}<button>Add to cart</button></main>"), name="faq.html").text
    assert "Is it cheap?" in text
    assert "Add to cart" not in text


def test_posts_in_a_table_that_only_arranges_them_are_read_as_paragraphs() -> None:
    rows = "".join(
        f"<tr><td>{author}</td><td>2024-03-01<blockquote>{ENGLISH.other}</blockquote>{text}</td></tr>"
        for author, text in zip(ENGLISH.authors, ENGLISH.posts, strict=True)
    )
    text = read(page(ENGLISH, f"<table>{rows}</table>"), name="board.html").text
    assert f"\n\n{ENGLISH.posts[1]}\n\n" in text
    assert "|" not in text


def test_specifications_stay_rows() -> None:
    rows = "<tr><th>Capacity</th><td>5 kWh</td></tr><tr><th>Weight</th><td><p>61 kg</p></td></tr>"
    text = read(page(ENGLISH, f"<p>{ENGLISH.posts[0]}</p><table>{rows}</table>"), name="product.html").text
    assert "| Capacity | 5 kWh |\n| Weight | 61 kg |" in text


SHELL = '<div id="splash">Loading</div><script>start()</script>'
POSTS = "".join(f"<p>{text}</p>" * 3 for text in ENGLISH.posts)


@pytest.mark.parametrize(
    "body",
    [f"{SHELL}<noscript>{POSTS}</noscript>", f'<div id="app"><div style="visibility:hidden">{POSTS}</div></div>'],
)
def test_a_page_that_scripts_would_show_is_read_as_it_stands(body: str) -> None:
    assert ENGLISH.posts[2] in read(f"<html><body>{body}</body></html>".encode(), name="app.html").text


@pytest.mark.parametrize(
    "hidden", [f"<noscript>{POSTS}</noscript>", f'<div><div style="visibility:hidden">{POSTS}</div></div>']
)
def test_what_is_hidden_stays_hidden_where_the_page_shows_something(hidden: str) -> None:
    shown = f"<p>{ENGLISH.other}. {ENGLISH.other}. {ENGLISH.other}.</p>" * 4
    assert ENGLISH.posts[2] not in read(f"<html><body>{shown}{hidden}</body></html>".encode(), name="a.html").text


@LANGUAGES
def test_much_left_out_of_a_long_page_is_said(words: Words) -> None:
    menu = "".join(f'<nav><a href="/{n}">{words.other}</a></nav>' for n in range(600))
    main = f"<main>{''.join(f'<p>{text}</p>' for text in words.posts * 2)}</main>"
    reading = read(page(words, menu + main), name="long.html")
    assert words.other not in reading.text
    assert MUCH_LEFT_OUT in reading.warnings
    assert MUCH_LEFT_OUT not in read(page(words, main), name="short.html").warnings
