"""Error pages and walls in the shapes they come in, and short or odd articles that must not be taken for them."""

# ruff: noqa: E501, ISC004 - these are pages, in the form they come in

NAVIGATION = (
    "<header><nav><ul><li><a href='/'>Home</a></li><li><a href='/news'>News</a></li><li><a href='/login'>Log in</a></li>"
    "</ul></nav></header>"
)
FOOTER = (
    "<footer><p>Copyright 2026 Example Media Ltd, a company registered in England. All rights reserved. We use cookies "
    "to make our site work; see our privacy notice for how to accept or reject them at any time.</p></footer>"
)


def page(title: str, body: str, *, head: str = "", lang: str = "en") -> bytes:
    return (
        f"<!doctype html><html lang='{lang}'><head><meta charset='utf-8'><title>{title}</title>{head}</head>"
        f"<body>{NAVIGATION}{body}{FOOTER}</body></html>"
    ).encode()


PROSE = (
    "<p>The city council voted on Tuesday to replace the ageing water mains under the northern districts, a project that "
    "engineers say has been put off for more than twenty years and will now cost about 48 million euros.</p>"
    "<p>Work is to begin in March and will move from street to street, with each closed for about three weeks. Residents "
    "are to be told a month ahead, and temporary pipes will keep every house supplied while the trenches are open.</p>"
    "<p>The opposition had asked for a slower schedule, arguing that the loans would weigh on later budgets. The mayor "
    "answered that leaks already cost two million euros a year and that waiting would only make the sum larger.</p>"
)
HANS = (
    "<p>市议会周二投票决定更换北部城区老化的供水主管道。工程师表示，这一项目已被推迟二十多年，如今预计耗资约四千八百万欧元。</p>"
    "<p>工程将于三月开始，逐街推进，每条街道大约封闭三周。居民将提前一个月得到通知，施工期间将由临时管道保证每户供水。</p>"
    "<p>反对派曾要求放慢进度，认为贷款会加重今后的预算负担。市长回应说，漏水每年已造成两百万欧元损失，等待只会让数额更大。</p>"
)
HANT = (
    "<p>市議會週二投票決定更換北部城區老化的供水主管道。工程師表示，這一項目已被推遲二十多年，如今預計耗資約四千八百萬歐元。</p>"
    "<p>工程將於三月開始，逐街推進，每條街道大約封閉三週。居民將提前一個月得到通知，施工期間將由臨時管道保證每戶供水。</p>"
)
LONG = PROSE * 4

WALLS: dict[str, tuple[str, bytes]] = {
    "a soft 404": ("not found", page("Page not found | Example News", "<h1>Page not found</h1><p>Try the search.</p>")),
    "a 404 with suggestions": (
        "not found",
        page(
            "Example News",
            "<h1>Oops! We can't find that page.</h1><p>The page you are looking for may have been moved or deleted. Here "
            "is what others read today instead:</p><ul><li>Ten ways to save water</li><li>The weather</li></ul>",
        ),
    ),
    "a 404 in simplified Chinese": (
        "not found",
        page("404错误页面", "<h2>抱歉，您访问的页面不存在</h2><a>返回首页</a>"),
    ),
    "a deleted post in Chinese": ("not found", page("某某论坛", "<div>该内容已被发布者删除</div><a>返回</a>")),
    "a 404 in traditional Chinese": (
        "not found",
        page("某某新聞", "<h1>找不到網頁</h1><p>您要找的頁面不存在或已移除。</p>"),
    ),
    "a server's 404": (
        "not found",
        b"<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center><hr><center>nginx"
        b"</center></body></html>",
    ),
    "a challenge": (
        "challenge",
        b"<!DOCTYPE html><html lang='en-US'><head><title>Just a moment...</title></head><body><noscript><div>Enable "
        b"JavaScript and cookies to continue</div></noscript><script>(function(){window._cf_chl_opt={cvId:'3'}})()"
        b"</script></body></html>",
    ),
    "a captcha": (
        "challenge",
        page(
            "Robot Check",
            "<h4>Enter the characters you see below</h4><p>Sorry, we just need to make sure you're not a "
            "robot. For best results, please make sure your browser is accepting cookies.</p><input name=c>",
        ),
    ),
    "a search engine's doubt": (
        "challenge",
        page(
            "https://search.example/",
            "<p>Our systems have detected unusual traffic from your computer network. This "
            "page checks to see if it's really you sending the requests, and not a robot.</p>",
        ),
    ),
    "an interstitial of a bot service": (
        "challenge",
        b"<html><head><title>example.com</title></head><body><p>Please enable JS and disable any ad blocker</p><script "
        b"src='https://ct.captcha-delivery.com/c.js'></script></body></html>",
    ),
    "a slider in Chinese": (
        "challenge",
        page("安全验证", "<p>请完成以下验证后继续访问</p><div>拖动滑块完成拼图</div>"),
    ),
    "a content network's denial": (
        "access denied",
        b"<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY><H1>Access Denied</H1>You don't have permission to access "
        b'"http://www.example.com/story" on this server.<P>Reference #18.3c5d1402.1700000000.1a2b3c</BODY></HTML>',
    ),
    "a firewall's block": (
        "access denied",
        page(
            "Attention Required! | Cloudflare",
            "<h1>Sorry, you have been blocked</h1><h2>You are unable to access "
            "example.com</h2><p>This website is using a security service to protect itself from online attacks. The "
            "action you just performed triggered the security solution.</p>",
        ),
    ),
    "a denial in Chinese": ("access denied", page("拒絕訪問", "<p>您沒有權限訪問此頁面，請聯絡管理員。</p>")),
    "a consent wall": (
        "consent wall",
        page(
            "Before you continue",
            "<h1>Before you continue to Example</h1><p>We use cookies and data to deliver and "
            "maintain our services, to track outages and protect against spam, fraud and abuse. If you choose to accept "
            "all, we will also use cookies and data to develop and improve new services and to deliver ads.</p>"
            "<button>Reject all</button><button>Accept all</button>",
        ),
    ),
    "a consent wall of partners": (
        "consent wall",
        page(
            "Example",
            "<h2>We value your privacy</h2><p>We and our 842 partners store and access personal data, like "
            "browsing data or unique identifiers, on your device. Selecting I Agree enables tracking technologies to "
            "support the purposes shown under we and our partners process data to provide.</p><button>I Agree</button>",
        ),
    ),
    "a consent wall in Chinese": (
        "consent wall",
        page(
            "示例网",
            "<p>我们重视您的隐私。我们和合作伙伴使用Cookie来存储和访问您设备上的个人数据，用于个性化广告和内容、广告与内容的衡量以及受众研究。</p>"
            "<button>全部接受</button><button>全部拒绝</button>",
        ),
    ),
    "a paywall with a teaser": (
        "paywall",
        page(
            "City to replace mains",
            PROSE + "<div>Subscribe to continue reading</div><div>Already a subscriber? Log in</div>",
        ),
    ),
    "a paywall told only in the data": (
        "paywall",
        page(
            "City to replace mains",
            PROSE,
            head='<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":"False"}</script>',
        ),
    ),
    "a paywall in Chinese": ("paywall", page("更换供水管道", HANS + "<div>开通会员，继续阅读全文</div>")),
    "a paywall in traditional Chinese": (
        "paywall",
        page("更換供水管道", HANT + "<div>本文為會員專享，請訂閱後閱讀全文</div>"),
    ),
    "a login form": (
        "login wall",
        page(
            "Log in | Example Network",
            "<h1>Log in</h1><form><input name=user><input type=password><button>Log in"
            "</button></form><a>Forgot your password?</a>",
        ),
    ),
    "a network for members": (
        "login wall",
        page(
            "Ann Lee - Example Network",
            "<h1>Join to view full profile</h1><p>Please sign in to see what Ann shared.</p>",
        ),
    ),
    "a login in Chinese": ("login wall", page("某某社区", "<p>登录后查看更多精彩内容</p><button>扫码登录</button>")),
    "an empty shell": (
        "empty shell",
        b"<!doctype html><html><head><title>Example App</title></head><body><noscript>You need to enable JavaScript to "
        b"run this app.</noscript><div id='root'></div><script src='/main.js'></script></body></html>",
    ),
    "a shell with a spinner": (
        "empty shell",
        page("Reports", "<div id='app'><div class='spinner'>Loading…</div></div><script src='/bundle.js'></script>"),
    ),
    "a page that asks for scripts": (
        "empty shell",
        page("Reports", "<p>JavaScript is disabled in your browser. Please switch it on and reload the page.</p>"),
    ),
    "a shell in Chinese": ("empty shell", page("数据平台", "<p>请启用 JavaScript 后再访问本页面。</p>")),
    "a parked domain": (
        "parked domain",
        page(
            "example-reports.com is for sale",
            "<h1>example-reports.com</h1><p>Buy this domain. The owner is asking for "
            "offers. Secure payment and fast transfer.</p>",
        ),
    ),
    "a parked domain in Chinese": (
        "parked domain",
        page("域名出售", "<h1>example.cn</h1><p>该域名正在出售，有意者请联系。</p>"),
    ),
    "the default page of a server": (
        "default page",
        b"<html><head><title>Welcome to nginx!</title></head><body><h1>Welcome to nginx!</h1><p>If you see this page, the "
        b"nginx web server is successfully installed and working. Further configuration is required.</p></body></html>",
    ),
    "the long default page of a server": (
        "default page",
        page(
            "Apache2 Ubuntu Default Page: It works",
            "<p>This is the default welcome page used to test the correct "
            "operation of the Apache2 server after installation on Ubuntu systems. If you can read this page, it means "
            "that the server installed at this site is working properly.</p>" + LONG,
        ),
    ),
    "maintenance": (
        "maintenance",
        page(
            "Site under maintenance",
            "<h1>We'll be back soon!</h1><p>Sorry for the inconvenience, we are performing "
            "some maintenance at the moment.</p>",
        ),
    ),
    "maintenance in Chinese": (
        "maintenance",
        page("系统维护中", "<p>系统正在升级维护，请稍后再访问，给您带来不便敬请谅解。</p>"),
    ),
    "a region block": (
        "region block",
        page(
            "Example Herald",
            "<p>We recognise you are attempting to access this website from a country belonging to the "
            "European Economic Area. Our site is currently unavailable to readers in the European Economic Area while "
            "we review the GDPR.</p>",
        ),
    ),
    "a region block in Chinese": (
        "region block",
        page("视频", "<p>抱歉，由于版权原因，您所在的地区暂时无法观看此内容。</p>"),
    ),
    "a gateway's error": (
        "server error",
        b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>",
    ),
    "a blog without its database": (
        "server error",
        b"<html><head><title>Database Error</title></head><body><h1>Error establishing a database connection</h1></body>"
        b"</html>",
    ),
    "a crashed application": (
        "server error",
        page("Example", "<h1>Something went wrong</h1><p>Please try again later, or contact support.</p>"),
    ),
    "an error in Chinese": ("server error", page("出错了", "<p>服务器开小差了，请稍后再试。</p>")),
}

ARTICLES: dict[str, bytes] = {
    "an article": page("City to replace mains", PROSE),
    "an article in simplified Chinese": page("更换供水管道", HANS, lang="zh"),
    "an article in traditional Chinese": page("更換供水管道", HANT, lang="zh"),
    "an article about 404 errors": page(
        "404 Not Found: what the error means and how to fix it",
        "<h1>404 Not Found: what the error means</h1><p>A 404 error tells a visitor that the server was reached but the "
        "page you are looking for could not be found. It is the best known of all status codes, and it has a history that "
        "goes back to the first web server at a laboratory near Geneva.</p>" + LONG,
    ),
    "an article about captchas": page(
        "Are you a robot? A short history of the captcha",
        "<p>Every day, people are asked to verify that they are human, "
        "and give up about ten seconds to it. The idea is older than the web as we know it.</p>" + PROSE + PROSE,
    ),
    "an article about paywalls": page(
        "Why newspapers ask readers to subscribe to continue reading",
        "<p>Readers who are asked to subscribe to continue reading mostly leave, a study of 2,000 sites says.</p>"
        + LONG,
    ),
    "an article about cookies": page(
        "What cookies know",
        "<p>Cookies were invented in 1994, to remember what was in a basket, and nobody asked for "
        "consent or offered a button to reject all of them then.</p>" + PROSE,
    ),
    "an article about a maintenance": page("Bridge under maintenance until May", PROSE + PROSE),
    "an article in Chinese about 404 pages": page("页面不存在？谈谈404错误的由来", HANS * 2, lang="zh"),
    "an article with a form for comments": page(
        "City to replace mains", PROSE + "<h3>Comments</h3><p>You must be logged in to post a comment.</p>"
    ),
    "a note with a form for comments": page(
        "Pack 2",
        "<p>The second pack of the October series is here, with nine tracks and two remixes.</p><p>You must be "
        "logged in to post a comment.</p>",
    ),
    "a note in Chinese with a form for comments": page(
        "公告", "<p>本周六上午九点至十一点，图书馆因盘点闭馆。</p><p>请登录后发表评论</p>"
    ),
    "an article with a banner": page(
        "City to replace mains", "<div>We use cookies. <button>Accept all</button></div>" + PROSE
    ),
    "an article with a letter to order": page(
        "City to replace mains", PROSE + "<div>Subscribe to our newsletter</div><div>Log in</div>"
    ),
    "an article that scripts adorn": page(
        "City to replace mains",
        "<noscript>Please enable JavaScript for the best experience.</noscript>"
        + PROSE
        + "<script src='/a.js'></script>",
    ),
    "a free article that says so": page(
        "City to replace mains", PROSE, head='<script type="application/ld+json">{"isAccessibleForFree":true}</script>'
    ),
    "a metered article in full": page(
        "City to replace mains", LONG, head='<script type="application/ld+json">{"isAccessibleForFree":false}</script>'
    ),
    "an article on a protected site": page(
        "City to replace mains", PROSE + "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"
    ),
    "a short note": b"<html><body><h1>Notice</h1><p>The library is closed on Friday.</p></body></html>",
    "a table of figures": page(
        "Leaks by year",
        "<table><tr><th>Year</th><th>Leaks</th></tr>"
        + "".join(
            f"<tr><td>{year}</td><td>{year - 1900} leaks in the north, {year - 1950} in the south</td></tr>"
            for year in range(2000, 2025)
        )
        + "</table>",
    ),
    "a list of links": page(
        "Reports of the water board",
        "<ul>"
        + "".join(
            f"<li><a href='/{n}'>Annual report {2000 + n}: figures for all {n} districts</a></li>" for n in range(20)
        )
        + "</ul><script src='/a.js'></script>",
    ),
    "a page about signing in": page(
        "How to sign in to the reading room", PROSE + "<p>You need to be signed in to order maps.</p>"
    ),
    "an article about a domain sale": page("This domain is for sale: the trade in names", PROSE + PROSE),
    "an article about a region block": page(
        "Why the video is not available in your country",
        "<p>Rights are sold country by country, and so the same video "
        "can be free in one and closed in the next.</p>" + PROSE,
    ),
    "an article about server errors": page("500 Internal Server Error: five causes", PROSE + PROSE),
    "an article about logging in, in Chinese": page("登录系统的设计", HANS * 2, lang="zh"),
    "a thread that is shown whole without scripts": (
        f"<html><head><title>Mains</title></head><body><div>Loading</div><script>start()</script>"
        f"<noscript>{PROSE}{PROSE}</noscript></body></html>"
    ).encode(),
}
