"""Words that carry no subject of their own, in English and Chinese. They stay in the index and leave queries."""

ENGLISH = frozenset(
    """a about above across after again against all almost also although always am among an and another any anyone
    anything are aren't around as at away be because been before being below between both but by can can't cannot could
    couldn't did didn't do does doesn't doing don't done down during each either else etc even ever every everyone for
    from further get gets got had hadn't has hasn't have haven't having he her here hers herself him himself his how
    however i if in into is isn't it it's its itself just let like made make makes many may me might more most much
    must my myself neither no nor not of off often on once only or other others our ours ourselves out over own per
    perhaps please quite rather really same she should shouldn't since so some something such s t than that that's the
    their theirs them themselves then there there's therefore these they thing things this those though through thus to
    together too toward towards under until up upon us use used uses using very via was wasn't we were weren't what
    whatever when where whereas whether which while who whoever whole whom whose why will with within without won't
    would wouldn't yet you your yours yourself""".split()
)

# Folded to simplified; a bigram of the text is dropped when it stands here.
CHINESE_BIGRAMS = frozenset(
    """什么 怎么 怎样 如何 哪些 哪个 哪里 为何 为什 么样 多少 是否 请问 以及 因为 所以 但是 然而 而且 并且 或者 还是
    如果 虽然 不过 由于 对于 关于 根据 按照 通过 可以 能够 应该 应当 需要 已经 正在 这个 那个 这些 那些 这样 那样 这种
    那种 我们 你们 他们 她们 它们 自己 大家 没有 不是 就是 都是 也是 还有 只有 其中 其他 其它 之间 之后 之前 以后 以前
    同时 此外 另外 例如 比如 等等 一个 一些 一种 有些 有关 相关 非常 十分 比较 更加 最为 介绍 一下 告诉""".split()
)
# A bigram that holds one of these is a seam between two words, but for the listed words.
CHINESE_PARTICLES = frozenset("的了吗呢吧嘛啊们是")
CHINESE_PARTICLE_WORDS = frozenset("目的 的确 标的 靶的 了解 除了 为了 了结 是非 国是".split())

# Enough of other languages' commonest words to tell in which of them a Latin text is written; none is an English noun.
_LATIN = """
de: der die das und ist nicht ein eine einen einem einer mit von für auf dem den des zu zum zur im in am an so sich auch
de: wird werden sind wie wer was wo wann warum welche welcher welches viel viele hat haben waren wurde wurden bei aus
de: nach über um als oder aber durch es sie seit bis
fr: le la les des est une un et dans pour que qui sur par avec pas plus au aux du de en ce cette ces il elle on sont été
fr: ont a à quel quelle quels quelles combien comment pourquoi où quand ne se ou mais leur
es: el la los las de en y que por con una un para del se su sus como más qué es fue fueron ha han cuánto cuántos cuánta
es: cuál cuáles cómo dónde cuándo quién entre sobre pero desde hasta lo no
it: il lo la i gli le di che per non sono è un una uno del della dei delle degli dello nel nella alla in da dal dalla
it: con su quanto quanti quale quali perché quando si ha hanno stato più
pt: o os a as um uma de que é não na no nas nos do da dos das em ao aos à por pelo pela para com se são foi foram qual
pt: quais quanto quantos quanta como onde quando quem mais mas sobre entre sua seu
nl: het een de van voor niet zijn op in en is dat die met aan te er was waren werd worden hoe wat waarom wanneer welke
nl: wie waar hoeveel bij naar uit ook als maar heeft hebben om deze dit we
sv: och att som det den en ett är på av för med till inte har var vad hur varför när från om
da: og at det den en et er på af med til ikke har var hvad hvor hvorfor hvornår fra om
pl: i na do się nie jest że to ile jak dlaczego kiedy który która oraz przez od dla po
"""
LATIN: dict[str, frozenset[str]] = {}
for _line in _LATIN.split("\n")[1:-1]:
    _code, _, _words = _line.partition(": ")
    LATIN[_code] = LATIN.get(_code, frozenset()).union(_words.split())
