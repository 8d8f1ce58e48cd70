"""Prompt injections: stretches of a text that command an AI assistant ("ignore all previous instructions").

One is known by whom it speaks to and by its form, not by what it asks for: a command about the answer that is being
written, about the instructions given before, to a model by name, or in the marks by which prompts are cut.
Found text is only pointed out: it stays what it is, something a source says. Rather miss one than accuse plain prose.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from deep_research.text.folding import to_simplified

# Every list has a figure that falls without it: `python -m evals.injection` tells.
WORDS = {
    # What came before, and away with it.
    "drop": "ignore disregard forget override bypass discard",
    "earlier": "previous prior above earlier preceding foregoing existing original initial system",
    "instructions": "instructions? prompts? directions? directives? commands? guidelines rules context tasks?",
    # Whom a command speaks to, and what only such a one has in hand.
    "model": r"AI LLM (?:large\s)?language\smodel chatbot (?:Chat)?GPT(?:-?\d)? DAN",
    "answer": "answer response reply output message summary",
    "page": "page document text article site website file e-?mail",
    "audience": "users? readers? visitors customers people everyone",
    # Parts and shapes of a text that nobody tells a person to give an answer.
    "part": r"letters? vowels? symbols? keywords emojis? revers\w+ base-?\d\d morse",
    "piece": "sentence line phrase statement link reminder tip fact joke",
    # What people ask of each other's answers in exams, forms, interviews and mails, and where it is to be put.
    "ordinary": """add answer await back base begin check choose compare consider convert copy defend describe discuss
    draw edit end enter expand explain express find focus format get give hear illustrate include justify keep leave
    limit make mark mention post practi[sc]e prepare quote read record refer reply respond review round see send share
    show simplify start state structure submit suggest support tailor type underline update use verify view wait
    write""",
    "place": r"below box space form field sheet by\s(?:the|\w+day|\d) question units? decimal survey mail comments?",
    # Who writes answers, and of which answers a sentence speaks.
    "writer": r"""LLMs? (?:AI|language)\smodels? models?(?=\s(?:must|should|ha(?:s|ve)\sto|reading|summari|answer))
    chat\s?bots? bots (?:chat)?gpt(?:-?\d)? claude gemini copilot summari[sz]ers?
    (?:answer|search)\sengines(?=\s(?:and|must|should))
    AI(?!-|\s(?!(?:assistant|agent|tool|reader|crawler|summari[sz]er)s?\b|must|sh|h|is|are|th|who|please|proc|sys|read)\w)
    (?:an|any|all|dear|for|the|virtual|digital|smart|AI)\sassistants?(?!\s(?:film|editor|professor|director|manager|coach))
    assistants?(?=\s(?:must|shall|should|are|is|has|please|\w+ing)\b|\s?[:,])
    (?:research|answering|software|intelligent|AI)\sagents? by\s(?:software|assistants) machine-generated
    automated\s\w+(?:\s\w+)?(?=\sth)
    (?:automated|automatic)\s(?:tool|system|reader|program|summari)\w* machine(?=,|\sread)
    (?:anyone|whoever|anybody|systems?\sthat)\s(?:answer|summari[sz]|writ|generat|compil)\w*""",
    "asked": r"""(?:any|every|each|all|your|generated|the)\s(?:answers?|summary) answers\s(?:about|on|from|to) summaries
    asked asks\s(?:what|about) answer(?:ing)?\s(?:any\s|all\s)?questions? questions?\s(?:about|on|of) come[sd]?\sup
    (?:writ|compil|prepar|generat)(?:e|ing)\s(?:an?|the|your)\s(?:report|answer|summary) (?:any|every|your)\sreports?
    summari[sz](?:e|ing) (?:quot|cit|report)ing\sth(?:is|e) whatever\s(?:the\s)?other
    in\s(?:the|all|any)\s(?:reports?|answers?) in\s(?:its|their)\splace
    (?:answers|summar\w+|descriptions|abstracts|accounts|reviews)\s(?:\w+\s){0,2}(?:on|of|from)\sthis
    (?:you|they|whoever|anyone|wherever)\s(?:\w+\s){0,3}?(?:recap|summari[sz]e|condense|paraphrase|retell|cite|quote)s?\sthis
    \byour\susers?""",
    # What is to be told, and what is not.
    "tell": """states? says? write answer reply respond claim conclude declare report mentions? stress affirm assert add
    include contain output begin open put use award""",
    "give": """give report state write use present list quote cite show display put describe name treat regard call
    portray rank""",
    "given": """characteri[sz]ed given reported stated quoted cited described presented written treated shown named
    called listed used""",
    "omit": r"""(?:not|never|don't|circumstances)\s(?:mention|cite|quote|say|tell\sanyone) omit leave\sout skip
    disregard discard suppress pass\sover be\s(?:repeated|left\sout)
    (?:avoid|refrain\sfrom)\s(?:mention|cit|quot)ing ignore\s(?:all\s|any\s|the\s)?other
    (?:not|never|don't)\s(?:reveal|disclose|include|contain|use|give)(?=[^.;]*(?:\d|figure|number|source|docu|report))""",
    # People and programs are told what to write as well.
    "people": r"""authors? students? candidates? applicants? staff employees? members? customers? we i my our officers?
    compan(?:y|ies) teachers? researchers? writers reviewers? contributors? journalists? pupils participants? them
    respondents? doctors? nurses? speakers? developers? clients? servers? wallets? calls? compiler installers? API he
    she committee minister mayor ink sheet method DOI JSON code""",
    # No verbs in the imperative, though a sentence may begin with them.
    "opening": r"""the an? this that in on at for from to with by of as if when while once after before until because
    since your you our my his her its their we they he she it who what which how why where is are was were will can
    could may and but or not no regardless all only
    (?!bring|embed|feed|app?ly|reply|supply|multiply)\w+(?:ing|ed|ly|[^su]s)""",
    "writer zh": """AI(?=\\s?(?:看|助|模|系|在|请|应|必|须|不|回答|生成|读者|一律|提|代理|[，：:])) 人工智[能慧]
    语言模型 大模型 模型(?=[：:]|，?(?:应|必须|请|不|一律|须|都|要|在|读))
    助[手理](?!教) 机器人(?=[：:]|[^，。]{0,8}答) 智能体 (?:摘要|问答)(?:程序|系统|工具) 智能工具
    工具(?=代|整理|阅读|总结) (?:自动|机器)(?:摘要|生成|整理) GPT Claude""",
    "asked zh": """
    (?:回答|答[复覆]|回[复覆]|总结|概括|转述|整理|谈到|引用[本该此]|提[到及])[^，。！？；\\n]{0,24}?(?<!临)时(?!间)
    (?:撰写|写|生成)(?:报告|摘要|回答|答案|总结)时 答案 (?:回答|摘要|报告|总结)[中里]不
    (?:被|有人|用户|使用者|读者|若|如[果有]?|当|凡)[^，。！？；\\n]{0,12}?(?:问到|问及|询问|提问|问起)
    (?:任何|所有)[^，。！？；\\n]{0,16}?(?:回答|摘要|报告|总结|概述|转述) 凡[^，。\\n]{0,16}(?:回答|提问|总结|引用)
    其[他它](?:来源|文件) 涉及[^，。]{0,8}(?:提问|问题)""",
    "must zh": """必须 [均都]?须 (?<!不)应当?(?!用) 不应(?!视) 应该 一律 统一 务必 请
    (?<![需主重首我])要(?![求是素么旨点]) 不得 不要 不可 不能 勿 (?<![特个级区分识辨])别 禁止
    只(?!有|要|是)能? 改(?![变造革善进]) 不许 一概 严禁 切勿 不准 绝不 需(?![要求]) 宜 不必 无须 就 麻烦 任务是""",
    "tell zh": """写(?![入在字出道]|代码) 回答(?=[：“\"A-Z]|[^，。]{2}) [答回][复覆] 报告为 声?称 说(?!明[^，。]{0,4}$)
    告[诉知](?:用户|使用者|读者|大家)(?!自己|其) 输出(?=[A-Z“]|答) 引用 提[到及] 透露 不提 给出别 省略 跳过 推荐
    采[用信] 视[为作] 替换 隐瞒 [描说][述成][为成]? 出现 宣称 作为[^，。；]{1,16}答案 列[为作] 答案都应
    首推 表述为 略去 回避 不要提 加上""",
    "people zh": """考生 学生 同学 作者 应聘 员工 客服 [教老]师 记者 我们 受访 选手 党员 干部 单位 企业 贡献者 业者 论文
    密码 姓名 市长 [签钢] 负责""",
    "drop zh": "忽略 无视 忘[记掉] 不要理会 不要遵[循守] 停止遵[循守从] 停止执行 不再遵[循守从] 不再执行",
    "earlier zh": "以上 上面 上述 之前 先前 此前 前面 以前 前述 原有 原来 系统",
    "instructions zh": "指令 指示 提示 命令 设定 对话 规则 要求 任务 说明",
    "model zh": "AI 人工智[能慧] 大?语言模型 大模型 聊天机器人 智[能慧]助[手理]",
    "answer zh": "回答 [回答][复覆] 输出 响应 摘要",
    "ordinary zh": """[写注说列]明 提[供到及交] 包[括含] 结合 举例 列出 填 写[在下出] 发[送给到至] 寄 告[诉知]我 附上
    感谢 谢谢 期待 收到 等待 根据 看到 希望 检查 解释 保存 查看 分享 采纳 证明 支持 参考 点击 对于 关于 针对 我
    他 她 它""",
}
_SOFTENER = (
    r"(?:(?:please|kindly|also|now|then|instead|finally|always|never|and|do not|don't|make sure (?:to|you)|be sure to"
    r"|remember to|you (?:must|should|shall|need to|have to|are to)|i (?:want|need) you to),? )"
)
# Not over the end of a line: what begins the next one is looked for there.
_INDENT = r"[^\S\n]{0,20}"
_BEGIN = rf"(?:^|(?<=[.!?;:\"“])){_INDENT}(?:please )?"
_MANNER = "in|with|as|using"
_PAGE_ZH = "(?:本|此|这[个篇份]?)(?:页面?|网[页站]|文[档章件]?|邮件|内容)"
# "Do not ignore…" asks for the contrary, "told it to ignore…" reports; "I want you to ignore…" is a command again.
_NO_COMMAND = re.compile(
    r"(?:\b(?:not|never|who|that|they|we|may|might|can|could|would|(?<!you )to)\s+|n't\s+"
    r"|[不别勿可了]|可以|不[得能应要])$",
    re.IGNORECASE,
)
# A line that goes on in small letters is no new sentence.
_SENTENCE_END = re.compile(r"[.!?;:](?=\s)|[。！？；]|\n(?!\s?[a-z])")
_STOP = re.compile(r"[.!?](?=\s)\s*|[。！？\n]\s*")
_LEADING = " \t\n\"“'‘(*•-–>#"
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”")
# What is commanded is the answer itself, or something in it.
_OBJECT = re.compile(
    r"^(?:\s+(?:up|out|down))?\s*$|\b(?:in|into|to|of|from|with|on|at|for|throughout|across)\s+$", re.IGNORECASE
)
_SECOND_PERSON = re.compile(r"\byou(?:r|rs|rself)?\b|[你您]", re.IGNORECASE)
# A text that says "you" so many times in so many characters around a command speaks to its reader all along.
_REGISTER_CHARS, _REGISTER_RATE, _REGISTER_MIN = 1_000, 0.004, 2
# Every injection holds one of these; looking for them first takes a tenth of the time. A "_" stands for a blank.
_HINTS = tuple(
    hint.replace("_", " ").replace("~", "_")
    for hint in """you_are_ you're_ from_now_on system_prompt llm gpt language_model chatbot act_as not_follow
    n't_follow not_obey n't_obey stop_following stop_obeying new_instructions new_prompt summarizing_this
    summarize_this summarising_this summarise_this _vowels _consonants _letter_with _letter_by web~search
    web~fetch code~execute <| inst] << #_system #_instruction tell_the_user telling_the_user inform_the_user
    informing_the_user""".split()
)
_HINTS_ZH = tuple(
    """忽略 无视 忘记 忘掉 不要理会 不要遵 停止遵 停止执 不再遵 不再执 从现在 系统提示 系统指令 新指令 新的指令 新的系统
    你现在是 人工智能 人工智慧 语言模型 大模型 机器人 能助 慧助 的回答 的回复 的回覆 的答复 的答覆 的输出 的响应 的摘要
    诉用户 知用户 须在 答时 码回 语回 文回 号回 4回""".split()
)
# Every sentence that dictates an answer holds one of these.
_DICTATING_HINTS = tuple(
    hint.replace("_", " ")
    for hint in """assistant chatb bots llm gpt claude gemini copilot model agent automat machine engines anyone
    anybody whoever systems_that system_that summar answer asked asks question report its_place their_place comes_up
    whatever inform tell_ other_source other_doc other_fi other_page other_text only_this treat regard refuse forbidden
    user reader omit skip mention leave_out disregard discard instead must_say should_say ai_ ai- ai, ai: ai， ai： quot
    cit_ cite recap condens paraphras retell description abstract accounts review software
    智能 智慧 助 模型 机器人 答 总结 概括 引用 报告 摘要 提 问 写 告 你 您""".split()
)
_REACH = 250
_HAN = re.compile("[\u4e00-\u9fff]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e]")


class Grammar(NamedTuple):
    """How injections are recognised; what `weak` finds counts only where the text around does not address a reader."""

    hints: tuple[tuple[str, re.Pattern[str]], ...]
    certain: re.Pattern[str]
    weak: re.Pattern[str]
    mention: re.Pattern[str]
    command: re.Pattern[str]
    ordinary: re.Pattern[str]
    strong: re.Pattern[str]
    writer: re.Pattern[str]
    asked: re.Pattern[str]
    dictated: re.Pattern[str]
    exclusive: re.Pattern[str]
    people: re.Pattern[str]


def make_grammar(words: Mapping[str, str]) -> Grammar:
    """Return how injections are recognised with these lists of words."""
    lists = {name: f"(?:{'|'.join(held.split()) or '(?!)'})" for name, held in words.items()}
    answer = rf"your (?:\w+ )?{lists['answer']}(?:s|'s)?\b"
    command = (
        rf"{_SOFTENER}{{0,3}}(?:in {answer},? {_SOFTENER}{{0,2}})?"
        rf"(?:(?!{lists['opening']}\b)(?P<verb>[a-z]+)\b|{answer} (?:must|should|needs? to|ha(?:s|ve) to)\b)"
    )
    strong = (
        rf"\b{lists['part']}\b|\bevery \w+ word\b|\"[^\"\n]{{8,}}\"",
        r"\b(?:begin|start|end)\b.{0,40}\bwith (?:[\"“']|the (?:word|phrase|sentence)\b)",
        rf"\b(?:include|add) .{{0,9}}\ban? (?:[\w-]+ ){{0,2}}{lists['piece']}\b",
        rf"\b{lists['audience']} (?:\w+ )?to\b|\bin {answer}, \w+ (?:the |all |that )?{lists['audience']}\b",
        # What the answer is to assert, or to link to.
        rf"\b(?:mention|say|state|claim|add|note|fact),?(?: in {answer},?)? that\b",
        r"\bwww\.|https?:|\w\.(?:com|net|org)\b",
    )
    return Grammar(
        hints=tuple(
            (begin, re.compile(begin + rest))
            for begin, rest in (
                *((word, "") for word in words["drop"].split()),
                ("ai", "(?![a-z])"),
                ("your", rf"\s+(?:(?:\w+\s+)?{lists['answer']}|(?:new|only|sole|real)\s)"),
                *((verb, rf"\s+(?:only|exclusively|{_MANNER})\b") for verb in ("respond", "reply", "answer")),
            )
        ),
        certain=_pattern(*_about_instructions(lists), *_about_model(lists), *_MARKS),
        weak=_pattern(*_weak(lists)),
        mention=_pattern(rf"\b{answer}"),
        command=_pattern(command),
        ordinary=_pattern(rf"^{lists['ordinary']}\b|\b{lists['place']}\b"),
        strong=_pattern(*strong),
        writer=_pattern(rf"\b{lists['writer']}\b|{lists['writer zh']}"),
        asked=_pattern(rf"\b{lists['asked']}\b|{lists['asked zh']}"),
        dictated=_pattern(*_dictated(lists)),
        exclusive=_pattern(*_exclusive(lists)),
        people=_pattern(rf"\b{lists['people']}\b|{lists['people zh']}"),
    )


def _pattern(*alternatives: str) -> re.Pattern[str]:
    joined = "|".join(alternatives).replace(" ", r"\s+").replace(r"\s+?", r"\s*")
    return re.compile(joined, re.IGNORECASE | re.MULTILINE)


def _about_instructions(lists: Mapping[str, str]) -> Iterator[str]:
    """Yield how a text does away with what came before, or asks for it."""
    drop, earlier, instructions = (lists[name] for name in ("drop", "earlier", "instructions"))
    before = rf"(?: \w+){{0,5}}? {earlier}(?: \w+){{0,3}}? {instructions}\b"
    yield rf"\b{drop}{before}"
    yield rf"\b(?:do not|don't|stop) (?:follow|obey)(?:ing)?{before}"
    yield rf"\b{drop}(?: \w+){{0,3}}? {instructions} (?:given )?(?:above|before this|so far)\b"
    yield rf"\b{drop} (?:the above|everything (?:above|before)),?(?: and| then){{0,2}} (?:say|tell|write|print|do)\b"
    yield rf"\b{drop} (?:all |everything |what )?(?:that )?(?:you(?: were|'ve been| have been) told|i (?:said|told))\b"
    yield r"\b(?:reveal|print|repeat|output|show|leak)(?: me)? (?:the|your) (?:\w+ )?system prompt\b"
    drop, earlier, instructions = (lists[f"{name} zh"] for name in ("drop", "earlier", "instructions"))
    yield rf"{drop}[^，。！？\n]{{0,6}}?{earlier}[^，。！？\n]{{0,6}}?{instructions}"
    yield r"(?:输出|透露|泄露|打印|重复|显示|告诉我)[你您]?的?(?:完整|全部|初始)?的?系统(?:提示词?|指令)"


def _about_model(lists: Mapping[str, str]) -> Iterator[str]:
    """Yield how a text speaks to a model by name, or gives it another self."""
    model = rf"(?:an? )?(?:unrestricted |uncensored )?{lists['model']}s?\b"
    page = lists["page"]
    yield rf"\byou are now (?:{model}|in \w+ mode\b)"
    yield rf"\b(?:pretend|imagine|if) (?:that )?you(?: are|'re) {model}"
    yield rf"\bas {model}(?: assistant| model)?,? you (?:must|should|will|shall|are (?:to|required|obliged))\b"
    yield r"\bfrom now on,? you (?:will|must|shall|are to) (?:act|answer|respond|reply|behave|ignore|only)\b"
    yield r"\bact as (?:an? )?(?:unrestricted|uncensored|jailbroken|DAN\b)"
    yield (
        rf"\b(?:attention|note|message|instructions?) (?:to|for) (?:the |any |all |you, )?{model}"
        r"(?: (?:assistant|agent)s?)? ?[:,.—]"
    )
    yield (
        rf"\b{model}(?: (?:assistant|agent|model|system|crawler)s?)? (?:(?:that|who) (?:is |are )?)?"
        rf"(?!writ)\w+(?:ing|s) this {page}\b"
    )
    yield rf"\b{model}(?: \w+)? (?:must|should|(?:is|are) (?:required|asked|told) to) \w+ (?:this|our) {page}\b"
    yield rf"{_BEGIN}(?:dear|hey|hello) {model}(?: (?:assistant|agent)s?)? ?[,:]"
    yield rf"{_BEGIN}when (?:you )?summari[sz](?:e|ing) this {page}, (?:please |you )?(?:always|must|say|write|add)\b"
    model = lists["model zh"]
    yield rf"作为(?:一[个名位])?{model}(?:助手|模型|系统)?[，,]?[你您](?:必须|应该?|需要|将|只能|要)"
    yield rf"(?:你现在是|如果[你您]是)(?:一[个名位])?(?:不受限制的)?{model}"
    yield r"从现在[开起]始?[，,]?你(?:将|必须|只能|要)(?:扮演|忽略|只)"
    yield rf"(?:阅读|读取|处理|总结|概括){_PAGE_ZH}的(?:所有|任何)?{model}"
    yield rf"[致给](?:所有|任何)?{model}(?:助手|模型|系统)?的(?:指令|指示|提示|命令)"


# The marks by which prompts are cut, and the names of our own tools.
_MARKS = (
    r"<\|(?:im_start|im_end|endoftext)\|>|\[/?INST\]|<</?SYS>>|^#+ (?:system|instructions?) ?:\s*$",
    rf"^{_INDENT}(?:system (?:override|prompt)|(?:your )?new (?:system )?(?:instructions|prompt)(?: are)?) ?:",
    rf"^{_INDENT}(?:系统提示词?|新的?(?:系统)?指令|新的?系统提示词?) ?[:：]",
    r"\b(?:use|call|run|invoke)(?: the| your)? (?:web_search|web_fetch|code_execute)\b",
)


def _weak(lists: Mapping[str, str]) -> Iterator[str]:
    yield rf"{_BEGIN}(?:respond|reply|answer) (?:only|exclusively) (?:{_MANNER})\b"
    yield rf"{_BEGIN}(?:respond|reply|answer) (?:{_MANNER}) [^.!?\n]{{0,40}}\b{lists['part']}\b"
    yield rf"{_BEGIN}\w+ (?:every \w+ letter|each letter|(?:all )?(?:vowels|consonants)) (?:with|by|in|to) "
    yield rf"\b{lists['drop']} (?:all|any|your)(?: \w+)? (?:instructions|prompts?|training|programming)\b"
    yield r"\byour (?:new|only|sole|real) (?:task|goal|role|instructions?)(?: now)? (?:is|are)\b"
    yield r"\b(?:do not|don't|never|without) (?:tell|inform)(?:ing)? the user\b(?! (?:that|what|how|if|when|which|to))"
    yield "不要告[诉知]用户"
    ordinary, answer = lists["ordinary zh"], lists["answer zh"]
    begin, mention = "(?:^|[。！？；，\\s]|请|必须|务必|要)", f"[你您]的{answer}"
    softener = "(?:请|务必|必须|都|要|一定|应当?|需要?|还|再|始终|，)"
    yield rf"在?{mention}(?:[中里内]|的?(?:末尾|结尾|开头|最后)){softener}*+(?!{ordinary})[\u4e00-\u9fff]{{2}}"
    yield rf"[你您](?:必须|务必|只能|要|需要?)在?{answer}(?:[中里时]|的?(?:末尾|结尾|开头|最后))(?!{ordinary})"
    yield rf"{begin}{answer}时(?:必须|务必|只能)(?!{ordinary})"
    yield rf"{begin}[将把]{mention}(?:都|全部|内容|直接)*+(?!{ordinary})"
    yield rf"(?:^|[。！？；]|请|必须|务必)(?!{ordinary}|.?[请在把将])[\u4e00-\u9fff]{{2}}{mention}"
    yield rf"{begin}使?用[^，。！？\n]{{0,8}}?(?:[码语文号]|\d\d){answer}(?![下以上问])"


def _dictated(lists: Mapping[str, str]) -> Iterator[str]:
    """Yield how a sentence orders that something is told or left out."""
    manner = (
        "(?: ?(?:under no|not|always|never|only|please|kindly|also|instead|then|simply|do|and|in the report)\\b){0,3} ?"
    )
    must = (
        r"(?:\b(?:must|shall|should|please|always|never|kindly|under no"
        r"|(?:is|are|has|have|needs?|required|expected|asked|instructed|ordered) to|have it|required that"
        r"|(?:ensure|make sure)[^.!?;]{0,40}|make your \w+)\b|^|[,;:—(]|\b(?:and(?: to)?|then)\b)"
    )
    order = rf"{must}{manner}\b"
    yield rf"{order}(?:{lists['omit']}|refuse to|pretend that)\b"
    yield (
        rf"{order}{lists['give']} (?:(?!as well)[^.!?;]|\.\w){{1,80}}? (?:as(?! well)|instead|first|above|trust\w*)\b"
    )
    yield rf"{order}(?:replace|change) [^.!?;]{{1,60}} (?:with|to|by) "
    yield (
        rf"{order}{lists['tell']}"
        r"(?: (?:with|by|in|it|the|an?|following|saying|words?|phrase|sentence|only|to|summary|answer|report))*"
        r"(?: that(?! (?:they|it is|it can|it cannot|he|she|you|these|those|are|is|can)\b)| ?[:\"“]| \d"
        r"|(?-i: (?!JSON)[A-Z]{3,})|(?-i: [A-Z]\w+ (?:was|is)))"
    )
    yield rf"{order}(?:tell|inform|instruct) (?:the |your )?(?:users?|readers?) (?:that(?! they)|to|the)\b"
    yield rf"{order}(?:recommend|promote|praise|credit|endorse|name|call|use|display) (?-i:[A-Z])"
    where = "(?: as| in (?:every|all|any|your))"
    yield rf"\b(?:must|shall|should|(?:is|are|has) to|that .{{1,40}}?) (?:always )?be {lists['given']}{where}\b"
    yield rf"\bonly .{{1,80}} may be (?:carried|{lists['given']})\b"
    yield rf"{lists['must zh']}[^。！？；\n]{{0,24}}?{lists['tell zh']}"


def _exclusive(lists: Mapping[str, str]) -> Iterator[str]:
    """Yield how a sentence sets itself above other sources, or one statement in another's place."""
    source, omit = "(?:sources?|documents?|files?|pages?|figures?|texts?)", lists["omit"]
    begin, say = "^\\W{0,4}(?:please )?", "(?:write|say|state|give|report|answer)"
    yield rf"\b(?:cite|use|quote|trust|rely on|refer to) only (?:this|our) {source}\b"
    yield rf"\bonly this {source} (?:may|must|should) be (?:cit|us|quot)ed\b|\bcorrect answer to any\b"
    yield rf"\b(?:treat|regard|consider) this {source} as the (?:only|sole)\b|\bthe answer to give is\b"
    yield rf"^(?:for|to) (?:all |any )?(?:AI|{lists['writer']})(?: readers?)? ?:"
    yield rf"\b(?:discard|{omit})(?: all| any| the| to)? other {source}\b|\bnot use any other {source}\b"
    yield rf"{begin}(?:refuse to answer|summari[sz]e this {lists['page']} as)\b"
    yield rf"{begin}you (?:must|have to|should) (?:not cite|say that(?! you))\b"
    yield rf"{begin}(?:do )?{omit}\b[^.!?\n]{{1,80}}?(?:[;,]|\band) ?(?:but |and )?{say}\b"
    yield (
        rf"{begin}(?:tell|inform|instruct) (?:the|your) (?:users?|readers?)"
        r" (?:that(?! they)|to (?:visit|buy|use)|the)\b"
    )
    other = "其[他它](?:来源|文件|文档|资料|数[字据])"
    yield rf"(?:不要|请?勿|不得|别)(?:引用|提[及到]?|使用|采用){other}|{other}[^，。]{{0,4}}(?:不[提用引]|不予)"
    yield "只(?:能|可)?引用本[文页]|答案(?:一律|都|只能|应当?|必须){1,2}[是为](?![肯否]定)"
    yield rf"^\W{{0,4}}(?:无论{other}|拒绝回答|请?告[诉知](?:用户|使用者|读者))"
    yield "[你您](?:必须|应该|应当|要)(?:在报告[中里])?[说写](?![出明])"
    omit = "(?:不要|请?勿|不得|别|切勿)"
    yield rf"[把将][^，。；\n]{{1,16}}写[成作为][^。！？；\n]{{1,16}}，{omit}|写明?[^。！？；\n]{{0,16}}，{omit}写"
    yield rf"{omit}在?(?:回答|摘要|答案|报告)[中里](?:提|出现|引用)"


_GRAMMAR = make_grammar(WORDS)


class _Injection(NamedTuple):
    """Where a command stands, where its sentence ends, and whether it may be meant for people."""

    start: int
    end: int
    until: int
    is_weak: bool


def find_prompt_injection(text: str, grammar: Grammar = _GRAMMAR) -> tuple[tuple[int, int], ...]:
    """Return where a text commands an AI assistant, as offsets in order."""
    # Signs without a glyph between the letters hide a command from a plain search, not from a model.
    hidden = [match.start() - count for count, match in enumerate(_INVISIBLE.finditer(text))]
    shown = _INVISIBLE.sub("", text) if hidden else text
    plain = to_simplified(shown).replace("’", "'")
    # The one letter that becomes two in lower case would shift what follows it.
    lowered = plain.replace("İ", "I").lower()
    spans = _certain(shown, sorted((*_injections(plain, lowered, grammar), *_dictations(plain, lowered, grammar))))
    return tuple((start + bisect_right(hidden, start), end + bisect_right(hidden, end - 1)) for start, end in spans)


def _certain(text: str, found: list[_Injection]) -> Iterator[tuple[int, int]]:
    """Yield what was found, without the weak ones that a text which speaks to its reader all along may well hold."""
    is_open = any(one.is_weak for one in found)
    addressed = (match.start() for match in _SECOND_PERSON.finditer(text)) if is_open else ()
    # What a command and its sentence say themselves is no sign of the text's own way of speaking.
    starts, ends = [one.start for one in found], [0, *(one.until for one in found)]
    own = [at for at in addressed if at >= ends[bisect_right(starts, at)]]
    end = 0
    for one in found:
        first, last = max(0, one.start - _REGISTER_CHARS), min(len(text), one.end + _REGISTER_CHARS)
        count = bisect_left(own, last) - bisect_left(own, first)
        is_usual = count >= max(_REGISTER_MIN, _REGISTER_RATE * (last - first))
        if one.start >= end and not (one.is_weak and is_usual):
            yield one.start, one.end
            end = one.end


def _injections(text: str, lowered: str, grammar: Grammar) -> Iterator[_Injection]:
    for begin, until in _stretches(lowered, grammar):
        plain = text[begin:until]
        # A stretch cut out of a text does not begin a sentence.
        first = 1 if begin else 0
        for pattern in (grammar.certain, grammar.weak):
            for match in pattern.finditer(plain, first):
                if not _NO_COMMAND.search(plain[max(0, match.start() - 12) : match.start()]):
                    start = match.end() - len(match[0].lstrip("。！？；， \n\t"))
                    yield _Injection(begin + start, begin + match.end(), begin + match.end(), pattern is grammar.weak)
        for match in grammar.mention.finditer(plain, first):
            if found := _about_answer(plain, match, first, grammar):
                start, end, end_of_sentence, is_weak = found
                yield _Injection(begin + start, begin + end, begin + end_of_sentence, is_weak)


def _dictations(plain: str, lowered: str, grammar: Grammar) -> Iterator[_Injection]:
    """Yield the sentences that dictate what answers say; what people are told to write is none."""
    ends = [*(stop.end() for stop in _STOP.finditer(plain)), len(plain)]
    hinted = {bisect_right(ends, at) for hint in _DICTATING_HINTS for at in _offsets(lowered, hint)}
    for number in sorted(hinted):
        begin, end = ends[number - 1] if number else 0, ends[number]
        sentence = plain[begin:end]
        if grammar.exclusive.search(sentence) or _is_dictated(sentence, grammar):
            yield _Injection(begin, end, end, is_weak=False)


def _is_dictated(sentence: str, grammar: Grammar) -> bool:
    writer = grammar.writer.search(sentence)
    if not writer and not grammar.asked.search(sentence):
        return False
    # A Chinese order may begin before the one it speaks to.
    order = grammar.dictated.search(sentence, writer.start() if writer and not _HAN.match(sentence) else 0)
    # Between the two, somebody else may be the one who is told.
    until = order.end() if order and writer else len(sentence)
    return bool(order) and not grammar.people.search(sentence, writer.end() if writer else 0, until)


def _about_answer(text: str, mention: re.Match[str], first: int, grammar: Grammar) -> _Injection | None:
    """Return the command about the answer in a sentence, if it holds one that people do not give each other."""
    earliest = max(first, mention.start() - _REACH)
    before = list(_SENTENCE_END.finditer(text, earliest, mention.start()))
    if earliest and not before:
        return None
    limit = min(len(text), mention.end() + _REACH)
    after = _SENTENCE_END.search(text, mention.end(), limit)
    start, until = before[-1].end() if before else 0, after.end() if after else limit
    start += len(text[start:until]) - len(text[start:until].lstrip(_LEADING))
    command = grammar.command.match(text, start, until)
    if not command:
        return None
    sentence = _QUOTED.sub('""', text[command.start("verb") if command["verb"] else start : until])
    mentions = len(grammar.mention.findall(sentence))
    # Who has a name, a project or an account of his own is no machine.
    if len(_SECOND_PERSON.findall(sentence)) > mentions:
        return None
    lead = text[command.end("verb") : mention.start()]
    is_weak = not grammar.strong.search(text[start:until])
    if is_weak and (not command["verb"] or not _OBJECT.search(lead) or grammar.ordinary.search(sentence)):
        return None
    return _Injection(start, max(mention.end(), command.end()), until, is_weak)


def _stretches(lowered: str, grammar: Grammar) -> list[tuple[int, int]]:
    """Return the surroundings of every hint, joined where they meet."""
    hints = _HINTS if lowered.isascii() or not _HAN.search(lowered) else _HINTS + _HINTS_ZH
    found = [at for each in hints if each in lowered for at in _offsets(lowered, each)]
    for begin, hint in grammar.hints:
        found += [match.start() for match in hint.finditer(lowered)] if begin in lowered else []
    joined: list[tuple[int, int]] = []
    for at in sorted(found):
        if joined and at - _REACH <= joined[-1][1]:
            joined[-1] = (joined[-1][0], at + _REACH)
        else:
            joined.append((max(0, at - _REACH), at + _REACH))
    return joined


def _offsets(text: str, hint: str) -> Iterator[int]:
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + len(hint))
