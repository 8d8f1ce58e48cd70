"""Prompt injections: stretches of a text that command an AI assistant ("ignore all previous instructions").

One is known by whom it speaks to and by its form, not by what it asks for: a command about the answer that is being
written, about the instructions given before, to a model by name, or in the marks by which prompts are cut. What a text
dictates without any of these signs is known by learned weights (`learned_orders`).
Found text is only pointed out: it stays what it is, something a source says. Rather miss one than accuse plain prose.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from deep_research.text.folding import to_simplified
from deep_research.text.learned_orders import find_orders

Pattern = re.Pattern[str]
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
    # No verbs in the imperative, though a sentence may begin with them.
    "opening": r"""the an? this that in on at for from to with by of as if when while once after before until because
    since your you our my his her its their we they he she it who what which how why where is are was were will can
    could may and but or not no regardless all only
    (?!bring|embed|feed|app?ly|reply|supply|multiply)\w+(?:ing|ed|ly|[^su]s)""",
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
_MAX_DISTANCE = 250
_HAN = re.compile("[\u4e00-\u9fff]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e]")


class Grammar(NamedTuple):
    """How injections are recognised; what `weak` finds counts only where the text around does not address a reader."""

    hints: tuple[Pattern, ...]
    certain: Pattern
    weak: Pattern
    mention: Pattern
    command: Pattern
    ordinary: Pattern
    strong: Pattern


def make_grammar(words: Mapping[str, str]) -> Grammar:
    """Return how injections are recognised with these lists of words."""
    lists = {name: f"(?:{'|'.join(text.split()) or '(?!)'})" for name, text in words.items()}
    answer_words = rf"your (?:\w+ )?{lists['answer']}(?:s|'s)?\b"
    command = (
        rf"{_SOFTENER}{{0,3}}(?:in {answer_words},? {_SOFTENER}{{0,2}})?"
        rf"(?:(?!{lists['opening']}\b)(?P<verb>[a-z]+)\b|{answer_words} (?:must|should|needs? to|ha(?:s|ve) to)\b)"
    )
    strong = (
        rf"\b{lists['part']}\b|\bevery \w+ word\b|\"[^\"\n]{{8,}}\"",
        r"\b(?:begin|start|end)\b.{0,40}\bwith (?:[\"“']|the (?:word|phrase|sentence)\b)",
        rf"\b(?:include|add) .{{0,9}}\ban? (?:[\w-]+ ){{0,2}}{lists['piece']}\b",
        rf"\b{lists['audience']} (?:\w+ )?to\b|\bin {answer_words}, \w+ (?:the |all |that )?{lists['audience']}\b",
        # What the answer is to assert, or to link to.
        rf"\b(?:mention|say|state|claim|add|note|fact),?(?: in {answer_words},?)? that\b",
        r"\bwww\.|https?:|\w\.(?:com|net|org)\b",
    )
    return Grammar(
        hints=(
            re.compile(lists["drop"]),
            re.compile("ai(?![a-z])"),
            re.compile(rf"your\s+(?:(?:\w+\s+)?{lists['answer']}|(?:new|only|sole|real)\s)"),
            re.compile(rf"(?:respond|reply|answer)\s+(?:only|exclusively|{_MANNER})\b"),
        ),
        certain=_pattern(*_about_instructions(lists), *_about_model(lists), *_MARKS),
        weak=_pattern(*_weak(lists)),
        mention=_pattern(rf"\b{answer_words}"),
        command=_pattern(command),
        ordinary=_pattern(rf"^{lists['ordinary']}\b|\b{lists['place']}\b"),
        strong=_pattern(*strong),
    )


def _pattern(*alternatives: str) -> Pattern:
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
    ordinary, answer_words = lists["ordinary zh"], lists["answer zh"]
    begin, mention = "(?:^|[。！？；，\\s]|请|必须|务必|要)", f"[你您]的{answer_words}"
    softener = "(?:请|务必|必须|都|要|一定|应当?|需要?|还|再|始终|，)"
    yield rf"在?{mention}(?:[中里内]|的?(?:末尾|结尾|开头|最后)){softener}*+(?!{ordinary})[\u4e00-\u9fff]{{2}}"
    yield rf"[你您](?:必须|务必|只能|要|需要?)在?{answer_words}(?:[中里时]|的?(?:末尾|结尾|开头|最后))(?!{ordinary})"
    yield rf"{begin}{answer_words}时(?:必须|务必|只能)(?!{ordinary})"
    yield rf"{begin}[将把]{mention}(?:都|全部|内容|直接)*+(?!{ordinary})"
    yield rf"(?:^|[。！？；]|请|必须|务必)(?!{ordinary}|.?[请在把将])[\u4e00-\u9fff]{{2}}{mention}"
    yield rf"{begin}使?用[^，。！？\n]{{0,8}}?(?:[码语文号]|\d\d){answer_words}(?![下以上问])"


_GRAMMAR = make_grammar(WORDS)


class _Injection(NamedTuple):
    """Where a command stands, where its sentence ends, and whether it may be meant for people."""

    start: int
    end: int
    until: int
    is_weak: bool


# A page is looked through when it is read, and when passages of it are chosen.
_REMEMBERED_CHARS = range(2_000, 100_000)


def find_prompt_injection(text: str, grammar: Grammar = _GRAMMAR) -> tuple[tuple[int, int], ...]:
    """Return where a text commands an AI assistant, as offsets in order."""
    return (_remembered if len(text) in _REMEMBERED_CHARS else _find)(text, grammar)


def _find(text: str, grammar: Grammar) -> tuple[tuple[int, int], ...]:
    # Signs without a glyph between the letters hide a command from a plain search, not from a model.
    hidden = [match.start() - count for count, match in enumerate(_INVISIBLE.finditer(text))]
    shown = _INVISIBLE.sub("", text) if hidden else text
    plain = to_simplified(shown).replace("’", "'")
    # The one letter that becomes two in lower case would shift what follows it.
    lowered = plain.replace("İ", "I").lower()
    found = list(_injections(plain, lowered, grammar))
    for start, end in find_orders(plain):
        if not any(start <= one.start < end for one in found):
            found.append(_Injection(start, end, end, is_weak=False))
    spans = _certain(shown, sorted(found))
    return tuple((start + bisect_right(hidden, start), end + bisect_right(hidden, end - 1)) for start, end in spans)


_remembered = lru_cache(maxsize=64)(_find)


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


def _about_answer(text: str, mention: re.Match[str], first: int, grammar: Grammar) -> _Injection | None:
    """Return the command about the answer in a sentence, if it holds one that people do not give each other."""
    earliest = max(first, mention.start() - _MAX_DISTANCE)
    before = list(_SENTENCE_END.finditer(text, earliest, mention.start()))
    if earliest and not before:
        return None
    limit = min(len(text), mention.end() + _MAX_DISTANCE)
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
    found = [match.start() for each in hints if each in lowered for match in re.finditer(re.escape(each), lowered)]
    found += [match.start() for hint in grammar.hints for match in hint.finditer(lowered)]
    joined: list[tuple[int, int]] = []
    for at in sorted(found):
        if joined and at - _MAX_DISTANCE <= joined[-1][1]:
            joined[-1] = (joined[-1][0], at + _MAX_DISTANCE)
        else:
            joined.append((max(0, at - _MAX_DISTANCE), at + _MAX_DISTANCE))
    return joined
