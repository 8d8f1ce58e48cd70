"""Which of our languages a question is asked in. Knows the commonest characters of both Chinese scripts."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `--help` reads words and must not load pydantic, which request.py needs
    from deep_research.request import Language

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
_QUOTED = re.compile(r"《[^》]*》|「[^」]*」|『[^』]*』|“[^”]*”|\"[^\"]*\"")
_LATIN_WORD = re.compile(r"[A-Za-z]+")

# Names and terms stand untranslated in Chinese questions ("iPhone 15 Pro 评测"); these words do not.
_ENGLISH = frozenset(
    "a about an and are as at be been between by can compare could describe did do does explain for from had has have "
    "how if in into is it its of on or should tell than that the their there these this to was were what when where "
    "which who why will with would".split()
)
# A word of English grammar stands for about three characters of Chinese.
_HAN_PER_WORD = 3

# Common characters that only one of the scripts uses; those with a use in both (后, 里, 云, 台) are left out.
_SIMPLIFIED = frozenset(
    "这们来时说国为学对发经过现进种从动产两长样实机关应问还没给让认识该请谁谈论证评语调读书写变难办务备处见观视觉题"
    "颜颗风飞马鱼鸟龙齐图团园圆场块坚报护担择击数断旧显术权条构标树检楼欢气汉汇沟泽洁济浓涨测湿满灵炼烟热爱状独环电"
    "疗盐监盘码础确离积称稳竞笔节药虑虽虾补规觅触计订记讲许设访诉诊词译试话详误课谢贝负责货质购贸费贵资赛赢赵趋轨转"
    "轮软轻载较边达迁运远违连迟选递释钟钢银链锁错键镇门闭间闻队阳阴阶际陆险随页顶项顺须预领频额驱驶验东丝严临举义习"
    "乡买亏亚亿仅价众优伤伟传体佣侧侦储儿党兰兴养兽农决况减凤创剂剧劝励劲劳势匀区医华协单卖卫厂历压县参双叶号员响唤"
    "墙声壳够头夹奋奖妇娱孙宁宝审宽宾寻导将尔尝层岁岛币带帮库废庄张弹归录彻径忆态总恶悬惊惯愿戏战扩执扫抢挤损换据摄"
    "敌无晋暂杂杀极枪栏档桥梦"
)
_TRADITIONAL = frozenset(
    "這們來時說國為學會對發經過現進種從動產兩長樣實機關應問還沒給讓認識該請誰談論證評語調讀書寫變難辦務備處見觀視覺"
    "題顏顆風飛馬魚鳥龍齊圖團園圓場塊堅報護擔擇擊數斷舊顯術權條構標樹檢樓歡氣漢匯溝澤潔濟濃漲測濕滿靈煉煙熱愛狀獨環"
    "電療鹽監盤碼礎確離積稱穩競筆節範藥慮雖蝦補規覓觸計訂記講許設訪訴診詞譯試話詳誤課謝貝負責貨質購貿費貴資賽贏趙趨"
    "軌轉輪軟輕載較邊達遷運遠違連遲選遞釋鐘鋼銀鏈鎖錯鍵鎮門閉間聞隊陽陰階際陸險隨頁頂項順須預領頻額驅駛驗東絲嚴豐臨"
    "舉義樂習鄉買虧雲亞億僅價眾優傷偉傳體餘傭側偵儲兒黨蘭興養獸農衝決況淨準減鳳創別劑劇勸勵勁勞勢勻區醫華協單賣衛廠"
    "歷壓縣參雙葉號員響喚牆聲殼夠頭夾奮獎婦娛孫寧寶審寬賓尋導將爾嘗層歲島幣帶幫庫廢莊張彈歸錄徹徑憶態總惡懸驚慣願戲"
    "戰擴執掃搶擠損換據攝敵無晉暫雜殺極槍欄檔橋夢後裡麼個與於並僑嗎啟"
)


def report_language(question: str, wanted: "Language | None" = None) -> "Language":
    """Return the language to answer in: the one asked for, else the question's own."""
    if wanted is not None:
        return wanted
    # What is quoted is what the question is about, not how it is asked.
    text = _QUOTED.sub(" ", question)
    if not (_HAN.search(text) or _LATIN_WORD.search(text)):
        text = question
    if not _is_chinese(text):
        return "en"
    simplified = sum(character in _SIMPLIFIED for character in question)
    traditional = sum(character in _TRADITIONAL for character in question)
    if simplified == traditional:
        # No common character tells; the whole table does, which costs a moment to load.
        from deep_research.text.script import is_traditional

        return "zh-Hant" if is_traditional(question) else "zh-Hans"
    return "zh-Hant" if traditional > simplified else "zh-Hans"


def _is_chinese(text: str) -> bool:
    if _KANA.search(text):
        return False
    english = sum(word.lower() in _ENGLISH for word in _LATIN_WORD.findall(text))
    return len(_HAN.findall(text)) > english * _HAN_PER_WORD
