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
_ANSWER = r"your (?:response|answer|reply|output|message)\b"
_BEGIN = r"(?:^|(?<=[.!?;:\"“])) ?(?:please )?"
_REST = r"(?:[^.!?\n]|[.!?](?!\s))"
_TWIST = _any(
    """modify augment enhance alter anagram scramble jumble misspell rearrange render integrate insert inject append
    substitute"""
)
_LETTERS = _any("letters vowels words spaces")
_DROP_ZH = _any("忽略 无视 忘记 忘掉 不要理会 不要遵循 不要遵守")
_FILLER_ZH = _any("你 您 在 的 所有 全部 一切 任何 系统")
_EARLIER_ZH = _any("以上 上面 上述 之前 先前 此前 前面 以前 前述 原有 原来 系统")
_ORDERS_ZH = _any("指令 指示 提示 命令 设定 对话 规则 要求")
_MODEL_ZH = r"(?:AI|人工智[能慧]|大?语言模型|大模型|聊天机器人|智[能慧]助[手理])"
_PATTERNS = (
    # Away with what came before.
    rf"\b{_DROP}(?: {_FILLER}){{0,5}} {_EARLIER}(?: {_FILLER}){{0,3}} {_ORDERS}\b",
    rf"\b{_DROP} (?:the above|everything (?:above|before)),?(?: and| then){{0,2}} (?:say|tell|write|print|do)\b",
    rf"{_DROP_ZH}掉?{_FILLER_ZH}{{0,3}}{_EARLIER_ZH}(?:给[出你]|收到)?的?{_FILLER_ZH}{{0,3}}{_ORDERS_ZH}",
    # Another self.
    rf"\byou are now (?:{_MODEL}|in (?:developer|admin|jailbreak) mode)",
    rf"\b(?:pretend|imagine|if) (?:that )?you(?: are|'re) {_MODEL}\b",
    rf"\bfrom now on,? you (?:will|must|shall|are to) {_any('act answer respond reply behave ignore only')}\b",
    rf"(?:你现在是|如果[你您]是)(?:一[个名位])?(?:不受限制的)?{_MODEL_ZH}",
    r"从现在[开起]始?[，,]?你(?:将|必须|只能|要)(?:扮演|忽略|只)",
    # What it is not to tell.
    r"\b(?:reveal|print|repeat|output|show|leak)(?: me)? (?:the|your) (?:full |hidden |initial )?system prompt\b",
    r"(?:输出|透露|泄露|打印|重复|显示|告诉我)[你您]?的?(?:完整|全部|初始)?的?系统(?:提示词?|指令)",
    # Spoken to by name.
    rf"\b(?:attention|note|instructions?) (?:to|for) (?:the |any |all )?{_MODEL}(?: (?:assistant|agent)s?)? ?[:,—]",
    rf"[致给](?:所有|任何)?{_MODEL_ZH}(?:助手|模型|系统)?的(?:指令|指示|提示|命令)",
    # Orders about the answer: only who expects one to be written gives them.
    rf"{_BEGIN}{_TWIST}\b{_REST}{{0,160}}\b{_ANSWER}",
    rf"{_BEGIN}(?:add|include) (?:\"[^\"\n]{{3,160}}\"|an? (?:sentence|link|line)){_REST}{{0,80}} (?:to|in) {_ANSWER}",
    rf"{_BEGIN}(?:replace|convert|remove|group|combine)\b{_REST}{{0,40}}\b{_LETTERS}\b{_REST}{{0,40}} {_ANSWER}",
    r"在[你您]的(?:回答|[回答][复覆]|输出)[中里](?:必须|请|务必)?(?:加入|添加|加上|插入|附上)",
    r"(?:修改|改写|打乱)[你您]的(?:回答|[回答][复覆]|输出)",
    # The marks by which prompts are cut.
    r"<\|(?:im_start|im_end|endoftext)\|>|\[/?INST\]|<</?SYS>>",
)
_ORDER = re.compile("|".join(_PATTERNS).replace(" ", r"\s+").replace(r"\s+?", r"\s*"), re.IGNORECASE | re.MULTILINE)
# "Do not ignore…" asks for the contrary, "told it to ignore…" reports; "I want you to ignore…" is an order again.
_NO_ORDER = re.compile(r"(?:\b(?:not|never|(?<!you )to)\s+|n't\s+|[不别勿]|不[得能可应要])$", re.IGNORECASE)
# Every order holds one of these; looking for them first takes a tenth of the time.
_HINTS = tuple(
    hint.replace("_", " ")
    for hint in """ignore disregard forget override bypass discard you_are_ you're_ from_now_on system_prompt
    your_response your_answer your_reply your_output your_message ai: ai, ai_— ai_assistant ai_agent llm language_model
    chatbot chatgpt <| inst] << 忽略 无视 無視 忘记 忘記 忘掉 不要理会 不要理會 不要遵 从现在 從現在 系统提示 系統提示
    系统指令 系統指令 你现在是 你現在是 的回答 的回复 的回覆 的答复 的答覆 的输出 的輸出 人工智能 人工智慧 语言模型
    語言模型 大模型 机器人 機器人 助手 助理""".split()
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
    lowered = text.replace("İ", "I").lower()
    joined: list[tuple[int, int]] = []
    for at in sorted(at for hint in _HINTS for at in _offsets(lowered, hint)):
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
