"""The words by which a question is read without a model; the Chinese ones expect a text folded to simplified script."""

import re

from deep_research.text.analyzer import CJK
from deep_research.text.stop_words import ENGLISH

# The word lists of strict mode; they are part of what that mode promises and stay as they are.
VAGUE_WORDS = ("it", "this", "that", "they", "them", "something", "anything", "what", "how")
ABBREVIATIONS = tuple("ai ml dl llm nlp cv ag ar vr mr web app db os api".split())
# Those with more than one common meaning; the meanings are in the messages.
AMBIGUOUS_ABBREVIATIONS = frozenset("nlp cv ag ar mr db os api".split())

WORD = re.compile(rf"[^\W_{CJK}]+(?:['’.&/+-][^\W_{CJK}]+)*[+#]*")
HAN_RUN = re.compile(f"[{CJK}]+")
HAN_PER_WORD = 3

# What stands around a topic and says nothing about it, as stop words do.
_FRAME_WORDS = ENGLISH.union(
    """kindly help i'm i'd i've want need love tell give show find provide everything regarding concerning interested
    curious look looking search searching research researching explore exploring investigate study learn learning know
    understand read write information info detail details data stuff topic subject hello hi hey thanks thank
    test""".split()
)
_LIGHT_WORDS = frozenset(
    """work works working happen happens happened mean means meaning say says said question questions good bad new go
    going come stand one ones way kind sort lot bit able exist exists called part aspect""".split()
)
NO_SUBJECT_WORDS = _LIGHT_WORDS | _FRAME_WORDS

EMPTY_QUESTION = re.compile(
    r"(?i)^\W*(?:(?:what|how) about|what(?:'s| is) up with|what(?:'s| is) (?:going on|new) with"
    r"|what (?:can|could|do|would) you (?:tell me|know|have|say) (?:about|on)"
    r"|(?:what|is there|are there|do you have)(?: any| some)? "
    r"(?:information|info|data|news|details|anything|something)(?: (?:is|are) there)?(?: available)?(?: about| on)?"
    r"|tell me (?:all|more|something|everything)?)\b"
)
LEADING_FRAME_ZH = re.compile(
    r"(?:[\s，,。、：:！!]|请问?|麻烦|能否|能不能|可否|可以|帮(?:我|忙|助我)|给我|为我|替我|我们?(?!的)(?:想要?|希望|需要|要)?|你|您"
    r"|想(?=了解|知道|研究)|(?:研究|了解|调研|调查|介绍|整理|总结|分析|收集|查|搜|看|说|讲|聊)(?:一下|一查|下(?=[^一]))"
    r"|研究|了解|知道|调研|调查|查查|查找|查询|搜索|搜集|看看|介绍|说说|讲讲|谈谈|聊聊|分析|整理|收集|总结|提供|告诉我?|关于|有关"
    r"|有?(?:什么|哪些|啥)(?:相关)?(?:的)?(?:信息|资讯|资料|内容|情况|消息|东西)|一些|一下|相关|(?:信息|资讯|资料|情况|内容|东西)(?![里中之显])"
    r"|你好|您好|在吗|谢谢|测试|的|吗|呢|吧|啊)+"
)
FUNCTION_ZH = re.compile(
    r"有什么|有没有|新(?=\s)|为什么|什么|怎么样?|怎样|如何|哪些|哪个|哪里|为何|多少|是否|以及|关于|目前|现在|当前|我们|一个|一些|一下|相关|[的了吗呢吧是啊]"
)

INTERROGATIVES = frozenset(
    """what what's who who's whose when where why how which is are was were do does did can could should shall will
    would has have had may might must isn't aren't don't doesn't""".split()
)
REQUEST_WORDS = _FRAME_WORDS - INTERROGATIVES
DIRECTIVES = frozenset(
    """summarize summarise describe explain compare contrast analyze analyse evaluate assess list trace identify discuss
    outline review examine estimate determine explore investigate detail define""".split()
)
ASKING_ZH = re.compile(
    r"什么|如何|怎么|怎样|为何|多少|哪[些个里家种年位国]|谁|是否|能否|可否|有没有|是不是|会不会|能不能|何时|何种|多[大久高长远]|几[个种年次]"
)
QUESTION_END = re.compile(r"[?？]\W*$|吗[?？。\s]*$")

# The user's own material: it is a clear topic, and "these documents" points at nothing else.
OWN_DOCUMENTS = re.compile(
    r"(?i)\b(?:documents?|files?|folder|attachments?|these (?:papers|reports|notes)|sources|minutes)\b"
    r"|文件|文档|资料[里中]|这[些份篇](?:资料|报告|文章|论文)|附件|(?:我们?的|手头的?|现有的?)(?:资料|材料)"
)
# The material as a whole, and what may stand beside it in a question that has no other subject.
MATERIAL = re.compile(
    r"(?i)\b(?:my|our|these|those|this|the|all|attached|uploaded|given)\s+(?:own |local |uploaded |attached )?"
    r"(?:documents?|docs|files?|folder|attachments?|sources|papers|notes|materials?|reports)\b"
    r"|(?:我们?的?|这[些份]|所有的?|全部的?|手头的?|现有的?|上传的?|本地的?)(?:资料|材料|文献)|文件夹?|文档|附件"
    r"|(?<=总结|概括|归纳|梳理|一下|概述)(?:资料|材料)"
)
MATERIAL_WORDS = frozenset(
    """key main point points important summary gist content contents conclusion conclusions takeaways statement
    statements message messages sum briefly short quick documents docs""".split()
)
COMMAND_ZH = re.compile(
    r"请|麻烦|帮忙?|给|替|我们?|你|您|总结|概括|归纳|梳理|整理|介绍|分析|概述|说明|综述|阅读|浏览|看看?|读|一下|一份|一个|做|写|讲|说|提到"
    r"|有|在|和|与|之间|各|份|中|里|要点|重点|主要|内容|核心|观点|结论|信息|情况|重要|关键|全部|所有|都|什么|哪些|怎么样?|如何|把|对|进行|个|最|大意"
    r"|[的了吗呢吧是啊]"
)
# What asks for the contents of a document that is named beside it.
_TELLING = r"(?:say|tell|state|contain|cover|report|show|mention|conclude)"
CONTENTS = re.compile(
    rf"(?i)\bwhat(?:'s| is| stands)?(?: written)? in\b|\bwhat (?:does|do|did)\b(?=.*\b{_TELLING}\b)"
    rf"|\b{_TELLING}(?: us| me)?\W*$"
    r"|\.(?:md|txt|pdf|docx?|html?|csv|xlsx?|pptx?)\b"
    r"|(?:里|中|上)?(?:都|主要)?[说讲写提](?:了|到|的是)*(?:些|哪些|什么|啥)+(?:内容)?|的?(?:主要)?内容(?:是什么|有哪些)"
)
# A summary may be one of a subject too: it is a document's only where its whole name is given.
SUMMARY = re.compile(
    r"(?i)\bsummari[sz]e\b|\b(?:contents?|summary|points|gist) of\b|总结(?:一下)?|概括(?:一下)?|的?(?:要点|主要内容)"
)
# What of such a document is wanted: "what does the tariff sheet say about pensioners".
WHAT_OF_IT = re.compile(r"(?i)\b(?:about|on|regarding|concerning)\b|(?:[里中]|[里中]?对)?(?:关于|有关)")

# Research fields that name no subject by themselves; only needed where Capital Letters make them look like names.
BROAD_FIELDS = frozenset(
    """cancer treatment treatments therapy drug drugs medicine health healthcare disease diseases education climate
    change global warming energy technology science economy economics finance business market marketing politics
    history machine deep learning artificial intelligence data computing quantum biology chemistry physics food water
    environment sports music art culture law security software internet robotics space""".split()
)

# A name's look: capitals inside, letters with digits, quotation marks, an administrative suffix.
QUOTED = re.compile(r"《[^》]{2,}》|「[^」]{2,}」|『[^』]{2,}』|“[^”]{2,}”|\"[^\"]{2,}\"|‘[^’]{2,}’")
PLACE_ZH = re.compile(f"[{CJK}]{{2,8}}(?:(?<![城都上股超门夜])市|省|县|大学)")
# Three letters and digits in one piece, as in STATUS6; an event with its year (COP2024) is no such thing.
RARE_TERM = re.compile(r"(?<![A-Za-z0-9_-])(?![A-Z]+(?:19|20)\d\d)[A-Z]{3,}\d{1,4}[A-Z]?(?![A-Za-z0-9_-])")

# Words that point at something said before.
POINTER_EN = re.compile(r"(?i)\b(it|its|this|that|these|those|they|them|their|he|she|him|his|her)\b")
POINTER_NO_NOUN = frozenset("it its they them their he she him his her".split())
POINTER_TIME = frozenset("year years month months week weeks decade century quarter season summer winter".split())
EXPLETIVE = re.compile(
    r"(?i)\b(?:is|was|would|will be|isn't|be) it (?:\w+ )?\w+ (?:that|to|for|if|when)\b"
    r"|\bit(?:'s| is| was) \w+ (?:that|to)\b"
    r"|\b(?:does|do|did|will|would) it (?:take\b|(?:help|matter|hurt|pay|make sense|cost|mean)(?: \w+){0,4} to\b)"
    r"|\bthat (?:is|are|can|could|will|would|have|has|do|does|were|was)\b"
)
POINTER_ZH = re.compile(
    r"(?:(?<!应)该|[那这](?:[个种款家项位类件]|一[个种款家项位类件]?|些)|它们?|他们?|她们?|(?<![尤与极])其(?![他它中实余次]))"
    rf"(?:(?!的|是|在|对|和|与|有|会|能|为|怎|如何|什么|吗|呢|到底|目前|最近|[，。？！])[{CJK}A-Za-z0-9\s-]){{0,8}}"
)
POINTER_TIME_ZH = re.compile(r"[那这](?:一|几|个|些)?(?:年|月|周|天|季度|时候|时代|次|方面|问题)")
POINTER_WORD_ZH = re.compile(r"^(?:该|[那这](?:[个种款家项位类件]|一[个种款家项位类件]?|些)|它们?|他们?|她们?|其)")
# What a task works on and does not name: "a given file", "某个城市".
UNNAMED = re.compile(
    r"(?i)\b(?:an?|the|some|any) (?:given|specific|specified|certain|chosen|particular) (?P<noun>\w+(?: files?)?)"
    rf"|(?:某一?[个家种份位款]|指定的?)(?P<zh>[{CJK}]{{1,6}}?)(?=的|\W|$)"
)
GENERIC_NOUN = re.compile(r"(?i)^(?:things?|stuff|one|ones|topic|subject|东西|事|事情|玩意儿?|话题|主题|问题|个)?$")

# A task that hangs on the user's own situation: no search finds what it leaves out.
OWN_TASK = re.compile(
    r"(?i)\bmy (?!question|research|understanding|documents?|files?|folder|notes|sources|papers|reports|materials?)"
    r"|\bfor me\b|\b(?:help|assist) me (?!understand|find out|research|learn about|with (?:research|understanding))"
    r"|^\W*i\b(?:['’]\w+)?(?! (?:want|need|(?:would )?like) to (?:know|understand|find out|research|learn about))"
    r"|(?:帮我|给我|为我)(?:写|做|制定|设计|安排|推荐|规划|准备|选|挑)|我(?:想|要|打算|准备)(?:学|买|去|做|开|换|装|写)"
)
# What is best, easy or near depends on who asks, unless a number or a period bounds the choice.
OPEN_CHOICE = re.compile(
    r"(?i)^(?!.*\d)(?!.*\b(?:last|past|this|all time)\b).*"
    r"\b(?:best(?! practi[cs]e)|top|cheapest|fastest|popular|highly|must-\w+|easy|beginners?|nearest|nearby"
    r"|courses?|tutorials?|guides?)\b"
    r"|^(?=[请帮给替找推搜列])(?!.*[\d年月周]).{0,12}(?:推荐|最(?:好|便宜|适合|受欢迎|值得|近)的|附近|入门|教程|课程)"
)
MAKING_TASK = re.compile(
    r"(?i)^\W*(?:please |can you |could you )?"
    r"(?:write|create|design|develop|plan|organi[sz]e|build|set up|automate|install|debug|recommend|perform|extract"
    r"|scrape|predict|train|implement|draft|download|teach)"
    r"(?: me| us)? (?:a|an|some|the|my|our|this|how)\b"
)
# What is to be done or made up, not found out.
_GENRE = r"(?:poem|poetry|haiku|sonnet|limerick|song|lyrics|story|stories|tale|novel|joke|screenplay)s?\b"
ERRAND = re.compile(
    r"(?i)^\W*+(?:please |(?:can|could|would|will) you (?:please )?)?(?:(?!.*\b(?:how|what|which|whether|or|vs)\b)"
    r"(?:(?:book|order|buy|reserve|call|remind|wake|pay|e-?mail) (?:me|us|my|an?|some|two|three|\d+)\b"
    r"|(?:send|deliver|forward|mail) (?!me|us).{1,60}\bto (?:my|our|him|her|them)\b)"
    rf"|(?:(?:write|compose|make up|invent)(?: me| us)?(?: an?| some| another)?|tell (?:me|us) an?)"
    rf" (?:(?!(?:of|on|about|for|to|in|the)\b)[\w-]+ ){{0,3}}{_GENRE})"
    r"|^(?:请|麻烦|能不能|可不可以|可以|可否|能否?|你|帮忙|[帮给替为]我|[\s，,])*"
    r"(?:(?!.*(?:什么|如何|怎|多少|哪|还是|是否|合适|值得|划算))(?:(?:预?[订定约]|购?买|送|寄|叫|点)给?我?[一两三几\d]*"
    r"[张束份辆封条杯个间桌盒瓶本件台只朵位箱]|(?:打[一个通]*电话|发[送一个封条]*(?:邮件|短信|微信))给|提醒我)"
    r"|(?:(?:写|创作|编)[一两几]?[首篇个部段则]?|[来讲作][一两几]?[首个段则])[^，。：？！]{0,15}(?:诗歌?|歌词|小说|童话|故事|剧本|散文|笑话)"
    r"(?:吧|好吗|吗)?(?:[\s，。！!.,？?]|$))"
)
# "Write a report on …" asks for research.
RESEARCH_PRODUCT = re.compile(
    r"(?i)^\W*(?:\w+ ){1,4}?(?:\w+ ){0,2}(?:report|overview|summary|review|analysis|comparison|survey|brief|briefing"
    r"|assessment|paper|essay|timeline|framework)\b|报告|综述|分析|对比|总结"
)

# What wants depth; the words that ask for judgement are in `judgement.toml`.
COMPLEX = re.compile(r"(?i)深度(?!学习|神经)|全面|详细|详尽|\b(?:in-depth|comprehensive|detailed|contrast)\b")

# What only asks politely, before a question that stands without it.
POLITE = re.compile(
    r"(?i)^(?:please |(?:can|could|would) you (?:please )?(?=tell me))?(?:tell me (?:more )?about "
    r"|i(?:'d| would) like to know |i want to (?:know|understand) )(?:about )?"
    r"|^(?:请问|请|麻烦|能否|帮我|帮忙|我想(?:要)?(?:了解|知道)|我们想(?:了解|知道)"
    r"|(?:研究|了解|介绍|调研|查)一下|关于|[\s，,])+"
)

# Answers that mean "do not ask, begin".
START_NOW = frozenset(("start now", "just start", "start", "go ahead", "直接开始研究", "直接开始", "开始研究", "开始"))
# Answers that leave the choice to us; compared in lower case without surrounding punctuation.
NO_PREFERENCE = frozenset(
    (
        "",
        *"any anything whatever no none skip pass idk everything".split(),
        *("you decide", "you choose", "no idea", "i don't know", "don't know", "i do not know", "not sure"),
        *("doesn't matter", "no preference", "up to you", "your choice"),
        *"随便 都行 你看着办 看着办 随你 都可以 不知道 不清楚 不确定 跳过 无所谓 你决定 没有 不限 随意".split(),
    )
)
