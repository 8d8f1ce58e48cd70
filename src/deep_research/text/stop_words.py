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

# Enough of other languages' commonest words to tell that a Latin text is not English.
OTHER_LATIN = frozenset(
    """der die das und ist nicht ein eine mit von für auf dem den des zu im sich auch wird sind le la les des est une un
    et dans pour que qui sur par avec pas plus au aux du ce el los las de en por con una para del se su como más qué es
    y il di che per non sono della gli nel alla o os um uma não na do da em ao pelo het een van voor niet zijn op och
    att som det wie wer wann warum welche welcher viel viele hat haben waren wurde quel quelle combien comment pourquoi
    où cuánto cuántos cuál cómo dónde quanto quanti perché quale hoe waarom""".split()
)
# Words of other languages too, which show little.
SHARED_LATIN = frozenset("a i in an as is was are no so we to do on".split())
