"""Stretches of a text that read like orders to an AI assistant ("ignore all previous instructions").

Found text is only pointed out: it stays what it is, something a source says. Rather miss one than accuse plain prose.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from deep_research.text.folding import to_simplified


def _any(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


_DROP = _any("ignore disregard forget override bypass discard")
_EARLIER = _any("previous prior above earlier preceding foregoing existing original initial system")
_FILLER = _any("all any every each of the your my these those and everything given system user safety or provided")
_ORDERS = _any("instructions? prompts? directions? directives? commands? guidelines rules context")
_MODEL = r"(?:an? )?(?:unrestricted |uncensored )?(?:AI|LLM|(?:large )?language model|chatbot|ChatGPT|DAN\b)s?"
_ANSWER = r"your (?:entire |whole |full |final |next )?(?:response|answer|reply|output|message)\b"
# Not over the end of a line: what begins the next one is looked for there.
_INDENT = r"[^\S\n]*"
_BEGIN = rf"(?:^|(?<=[.!?;:\"“])){_INDENT}(?:please )?"
_REST = r"(?:[^.!?\n]|[.!?](?!\s))"
_TWIST = _any(
    """modify augment enhance alter anagram scramble jumble misspell rearrange render integrate insert inject append
    substitute incorporate embed infuse weave encrypt encipher"""
)
_LETTERS = _any("letters vowels consonants words nouns verbs spaces")
_WRITE = _any(
    """use provide write give encode apply convert translate transform change replace respond reply answer reverse
    invert spell shift introduce make present deliver express output return"""
)
# What nobody but a model could be asked to write in.
_CODE = _any(
    r"""base[-\s]*(?:32|58|64|85) (?:\w+\s+)?ciphers? morse rot-?13 pig\slatin leet\s?speak backwards? in\sreverse
    reversed?\sorder reverse\sthe\s\w+\s(?:of|in) anagram\w* misspell\w* typos homophon\w+ alphanumeric scrambled
    jumbled gibberish without\s(?:any\s)?spaces (?:symbols|numbers|emojis?)\s(?:for|to\sreplace|instead)
    random\s(?:language|letters|characters|words)"""
)
_PLUG = _any(
    """sentence link line tip reminder joke fact statistic statement promotion ad advertisement recommendation headline
    slogan claim rumou?r reason appeal teaser testimonial hyperlink"""
)
_PEOPLE = _any("users readers people everyone visitors customers")
_PAGE = "(?:page|document|text|article|site|website|file|e-?mail)"
_DROP_ZH = _any("忽略 无视 忘记 忘掉 不要理会 不要遵循 不要遵守")
_FILLER_ZH = _any("你 您 在 的 所有 全部 一切 任何 系统")
_EARLIER_ZH = _any("以上 上面 上述 之前 先前 此前 前面 以前 前述 原有 原来 系统")
_ORDERS_ZH = _any("指令 指示 提示 命令 设定 对话 规则 要求")
_MODEL_ZH = r"(?:AI|人工智[能慧]|大?语言模型|大模型|聊天机器人|智[能慧]助[手理])"
_ANSWER_ZH = "[你您]的(?:回答|[回答][复覆]|输出|响应)"
_PAGE_ZH = "(?:本|此|这[个篇份]?)(?:页面?|网[页站]|文[档章件]?|邮件|内容)"
_PATTERNS = (
    # Away with what came before.
    rf"\b{_DROP}(?: {_FILLER}){{0,5}} {_EARLIER}(?: {_FILLER}){{0,3}} {_ORDERS}\b",
    rf"\b{_DROP}(?: {_FILLER}){{0,3}} {_ORDERS} (?:above|before this|so far)\b",
    rf"\b{_DROP} (?:the above|everything (?:above|before)),?(?: and| then){{0,2}} (?:say|tell|write|print|do)\b",
    rf"\b{_DROP} (?:all |everything )?(?:that )?you(?: were|'ve been| have been) told (?:so far|before|above)\b",
    (
        r"\b(?:do not|don't|stop) (?:follow|obey)(?:ing)?"
        rf"(?: {_FILLER}){{0,5}} {_EARLIER}(?: {_FILLER}){{0,3}} {_ORDERS}\b"
    ),
    rf"(?:停止|不再)(?:遵[循守从]|执行|服从){_FILLER_ZH}{{0,3}}{_EARLIER_ZH}的?{_FILLER_ZH}{{0,3}}{_ORDERS_ZH}",
    rf"{_DROP_ZH}掉?{_FILLER_ZH}{{0,3}}{_EARLIER_ZH}(?:给[出你]|收到)?的?{_FILLER_ZH}{{0,3}}{_ORDERS_ZH}",
    # Another self.
    rf"\byou are now (?:{_MODEL}|in (?:developer|admin|jailbreak) mode)",
    rf"\b(?:pretend|imagine|if) (?:that )?you(?: are|'re) {_MODEL}\b",
    rf"\bfrom now on,? you (?:will|must|shall|are to) {_any('act answer respond reply behave ignore only')}\b",
    rf"\bas {_MODEL}(?: assistant| model)?,? you (?:must|should|will|shall|are (?:to|required|obliged))\b",
    r"\bact as (?:an? )?(?:unrestricted|uncensored|jailbroken|DAN\b)",
    rf"作为(?:一[个名位])?{_MODEL_ZH}(?:助手|模型|系统)?[，,]?[你您](?:必须|应该?|需要|将|只能|要)",
    rf"(?:你现在是|如果[你您]是)(?:一[个名位])?(?:不受限制的)?{_MODEL_ZH}",
    r"从现在[开起]始?[，,]?你(?:将|必须|只能|要)(?:扮演|忽略|只)",
    # What it is not to tell.
    r"\b(?:reveal|print|repeat|output|show|leak)(?: me)? (?:the|your) (?:full |hidden |initial )?system prompt\b",
    r"(?:输出|透露|泄露|打印|重复|显示|告诉我)[你您]?的?(?:完整|全部|初始)?的?系统(?:提示词?|指令)",
    # Spoken to by name.
    rf"\b(?:attention|note|instructions?) (?:to|for) (?:the |any |all )?{_MODEL}(?: (?:assistant|agent)s?)? ?[:,—]",
    (
        rf"\b{_MODEL}(?: (?:assistant|agent|model|system|crawler)s?)? (?:that (?:is|are) |who (?:is|are) )?"
        rf"(?:reading|processing|summari[sz]ing|parsing|visiting|crawling) this {_PAGE}\b"
    ),
    rf"{_BEGIN}when (?:you )?summari[sz](?:e|ing) this {_PAGE}, (?:please |you )?{_any('always must say write add')}\b",
    rf"{_BEGIN}dear {_MODEL}(?: (?:assistant|agent)s?)? ?[,:]",
    r"\b(?:use|call|run|invoke)(?: the| your)? (?:web_search|web_fetch|code_execute)\b",
    (
        rf"^{_INDENT}(?:system (?:override|prompt)|new (?:system )?(?:instructions|prompt)"
        r"|your new instructions(?: are)?) ?:"
    ),
    rf"(?:阅读|读取|处理|总结|概括){_PAGE_ZH}的(?:所有|任何)?{_MODEL_ZH}",
    rf"^{_INDENT}(?:系统提示词?|新的?(?:系统)?指令|新的?系统提示词?) ?[:：]",
    rf"[致给](?:所有|任何)?{_MODEL_ZH}(?:助手|模型|系统)?的(?:指令|指示|提示|命令)",
    # Orders about the answer: only who expects one to be written gives them.
    rf"{_BEGIN}{_TWIST}\b{_REST}{{0,160}}\b{_ANSWER}",
    rf"{_BEGIN}(?:add|include) (?:\"[^\"\n]{{3,160}}\"|an? (?:\w+ ){{0,2}}{_PLUG}){_REST}{{0,99}} (?:to|in) {_ANSWER}",
    rf"{_BEGIN}(?:promote|advertise|endorse|plug|tease|hint)\b{_REST}{{0,160}} in {_ANSWER}",
    rf"{_BEGIN}in {_ANSWER}, ?(?:promote|advertise|endorse|praise|plug|tease|hint)\b",
    rf"{_BEGIN}in {_ANSWER}, ?\w+ (?:that )?{_PEOPLE}\b",
    rf"{_BEGIN}(?:begin|start|end|finish) {_ANSWER} with (?:[\"“']|the (?:phrase|words?|sentence)\b)",
    rf"{_BEGIN}{_WRITE}\b(?={_REST}{{0,120}}\b{_CODE}\b){_REST}{{0,120}}\b{_ANSWER}",
    rf"{_BEGIN}(?:respond|reply|answer) (?:only )?(?:in|with|using) {_REST}{{0,40}}\b{_CODE}\b",
    rf"{_BEGIN}(?:replace|translate|convert)\b{_REST}{{0,60}} {_ANSWER} (?:with|into|to) (?:\w+ )?emojis?\b",
    rf"{_BEGIN}replace (?:all )?(?:every \w+ letter|each letter|vowels) {_REST}{{0,40}}\b(?:numbers?|symbols|digits)\b",
    rf"{_BEGIN}(?:replace|convert|remove|group|combine)\b{_REST}{{0,40}}\b{_LETTERS}\b{_REST}{{0,40}} {_ANSWER}",
    (
        rf"在?{_ANSWER_ZH}(?:[中里]|的?(?:末尾|结尾|开头|最后))(?:必须|请|务必|都|要|一定)*"
        r"(?:加[入上]|添加|插入|附上|推荐|宣传|推广)"
    ),
    rf"(?:修改|改写|打乱|倒写|加密){_ANSWER_ZH}",
    rf"[将把]{_ANSWER_ZH}(?:中的)?(?:全部|内容|文字|字母|单词)*(?:编码|加密|倒[序过写]|反[转过]|打乱|替换)",
    r"(?:^|[。！？；\s]|请)使?用(?:base ?\d\d|摩[尔斯]|凯撒|表情符号|乱码|倒序).{0,12}(?:回答|[回答][复覆]|输出)",
    # The marks by which prompts are cut.
    r"<\|(?:im_start|im_end|endoftext)\|>|\[/?INST\]|<</?SYS>>",
)
_ORDER = re.compile("|".join(_PATTERNS).replace(" ", r"\s+").replace(r"\s+?", r"\s*"), re.IGNORECASE | re.MULTILINE)
# "Do not ignore…" asks for the contrary, "told it to ignore…" reports; "I want you to ignore…" is an order again.
_NO_ORDER = re.compile(r"(?:\b(?:not|never|(?<!you )to)\s+|n't\s+|[不别勿]|不[得能可应要])$", re.IGNORECASE)
# Every order holds one of these; looking for them first takes a tenth of the time. A "_" stands for a blank.
_HINTS = tuple(
    hint.replace("_", " ").replace("~", "_")
    for hint in """ignore disregard forget override bypass discard you_are_ you're_ from_now_on system_prompt
    your_response your_answer your_reply your_output your_message your_entire_ your_whole_ your_full_
    your_final_ your_next_ ai: ai, ai_— ai_you ai_model ai_assistant ai_agent llm
    language_model chatbot chatgpt act_as not_follow n't_follow not_obey n't_obey stop_following stop_obeying
    new_instructions new_prompt reading_this processing_this summarizing_this summarize_this summarising_this
    summarise_this parsing_this visiting_this crawling_this respond_in respond_with respond_using respond_only reply_in
    reply_with reply_using reply_only answer_in answer_with answer_using answer_only replace_vowels replace_all_vowels
    replace_every replace_each web~search web~fetch code~execute <| inst] <<
    忽略 无视 無視 忘记 忘記 忘掉 不要理会 不要理會 不要遵 停止遵 停止执 停止執 不再遵 不再执 不再執 从现在 從現在
    系统提示 系統提示 系统指令 系統指令 新指令 新的指令 新的系统 新的系統 你现在是 你現在是 的回答 的回复 的回覆 的答复
    的答覆 的输出 的輸出 的响应 的響應 人工智能 人工智慧 语言模型 語言模型 大模型 机器人 機器人 助手 助理 作为ai 作為ai
    一个ai 一個ai 的ai base64 base32 base_64 表情符 摩尔斯 摩爾斯 摩斯 凯撒 凱撒 乱码 亂碼 倒序""".split()
)
_REACH = 400
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e]")


def find_instructions(text: str) -> tuple[tuple[int, int], ...]:
    """Return where a text gives orders to an AI assistant, as offsets in order."""
    # Signs without a glyph between the letters hide an order from a plain search, not from a model.
    hidden = [match.start() - count for count, match in enumerate(_INVISIBLE.finditer(text))]
    spans = _spans(_INVISIBLE.sub("", text) if hidden else text)
    return tuple((start + bisect_right(hidden, start), end + bisect_right(hidden, end - 1)) for start, end in spans)


def _spans(text: str) -> list[tuple[int, int]]:
    spans = []
    for begin, until in _stretches(text):
        plain = to_simplified(text[begin:until]).replace("’", "'")
        for match in _ORDER.finditer(plain):
            if not _NO_ORDER.search(plain[max(0, match.start() - 12) : match.start()]):
                end = begin + match.end()
                spans.append((end - len(match.group().lstrip()), end))
    return spans


def _stretches(text: str) -> list[tuple[int, int]]:
    """Return the surroundings of every hint, joined where they meet."""
    # The one letter that becomes two in lower case would shift what follows it.
    lowered = text.replace("İ", "I").replace("’", "'").lower()
    joined: list[tuple[int, int]] = []
    present = [hint for hint in _HINTS if hint in lowered]
    for at in sorted(at for hint in present for at in _offsets(lowered, hint)):
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
