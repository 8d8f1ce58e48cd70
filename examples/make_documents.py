"""Rebuild the PDF and DOCX files of examples/documents from the texts below.

Needs `typst`, `python-docx` and the Noto Sans CJK fonts; the other example documents are edited in place. Not part of
the package, and not needed to run the demo: the built files are kept in the repository.
"""

import datetime
import json
import re
from pathlib import Path

import docx
import typst
from docx.oxml.ns import qn

FOLDER = Path(__file__).parent / "documents"
WIDE = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n|\n(?=[\u3000-\u9fff\uff00-\uffef])")

# One blank line between blocks; `#` and `##` are headings, `|` a table row, `---` a page break.

COUNCIL_REPORT = """
# Harbour Heat Programme: closing report to the Halden Bay City Council

Energy Department, Halden Bay City Council. Report 2026/07, presented on 12 February 2026.

## 1. Why the network was rebuilt

The district heating network of Halden Bay was built in 1978 and supplies 31,400 dwellings and 212 public buildings
through 142 kilometres of pipe. In 2021 the Kettle Point coal plant still produced 61 per cent of the network's
heat, gas boilers 30 per cent, the waste incinerator 6 per cent and oil boilers 3 per cent. The national Clean Heat
Act of 2020 obliged every municipal network to end coal firing by 31 December 2025.

The City Council approved the Harbour Heat Programme with 29 of 41 votes on 14 June 2021. The programme had three
aims: to replace coal with large seawater heat pumps, to cut network losses below 14 per cent, and to keep district
heating cheaper than an individual gas boiler for an average household.

## 2. What was built

Halden Bay Heat, the city's own utility, installed three seawater heat pumps of 25 megawatts each at Kettle Point,
giving 75 megawatts of heat output in total. The programme also built a hot-water storage tank of 18,000 cubic
metres, a seawater intake tunnel of 1.3 kilometres and an electric boiler of 30 megawatts for peak hours.
Contractors replaced 23 kilometres of the oldest distribution pipe and renewed 4,100 building heat exchangers
between March 2022 and August 2025.

---

## 3. Cost and funding

The Harbour Heat retrofit of Halden Bay cost €146.2 million in total by 31 December 2025. The budget approved by the
City Council in June 2021 was €118.0 million, so the programme exceeded its budget by €28.2 million, or 24 per cent.

| Item | Final cost (€ million) |
| Heat pumps and pump hall | 61.4 |
| Replacement of 23 km of pipe | 31.5 |
| Seawater intake and tunnel | 27.8 |
| Storage tank | 9.6 |
| Building heat exchangers and controls | 8.1 |
| Design, supervision and insurance | 7.8 |

Repairing the seawater intake tunnel after storm Brida accounted for €11.3 million of the overrun. Higher prices for
steel and compressors added €9.7 million, and replacing more corroded pipe than the 2020 survey had found added €7.2
million.

The national Heat Transition Fund paid a grant of €52.0 million towards the Harbour Heat Programme. The city raised
€68.0 million through a green bond with a term of 20 years and an interest rate of 3.4 per cent. Halden Bay Heat
paid the remaining €26.2 million from its reserves, which fell to €9.1 million at the end of 2025.

## 4. Delays

The Harbour Heat Programme was to be complete in October 2023, but the third heat pump entered service only on 21
November 2024, thirteen months late. Late delivery of the compressors cost seven months. Storm Brida flooded the
intake shaft on 19 October 2023 and cost a further four months. The grid connection at the Mill Quay substation cost
the last two months.

---

## 5. Results

The three heat pumps produced 468 gigawatt-hours of heat in 2025, which was 66 per cent of all heat fed into the
Halden Bay network. Gas boilers produced 21 per cent, the waste incinerator 6 per cent, the electric boiler 4 per
cent and coal 2 per cent. The Kettle Point coal plant burned its last coal on 30 April 2025, eight months before the
legal deadline.

Carbon dioxide emissions of the Halden Bay heating network fell from 226,000 tonnes in 2021 to 61,000 tonnes in
2025, a reduction of 73 per cent. The Energy Department attributes about nine tenths of the reduction to the end of
coal firing and the rest to lower losses and lower supply temperatures.

Network losses fell from 17.5 per cent of heat production in 2021 to 13.2 per cent in 2025, because 23 kilometres of
pipe were replaced and the supply temperature was lowered from 95 to 82 degrees Celsius. Heat production fell from
728 gigawatt-hours in 2021 to 705 gigawatt-hours in 2025 although 1,150 dwellings were newly connected.

## 6. Effect on households

An average household in Halden Bay that uses 9.4 megawatt-hours a year paid €1,285 for district heating in 2025,
compared with €1,001 in 2021. Heating the same dwelling with an individual gas boiler would have cost about €1,430
in 2025, according to the Energy Department's comparison. The Halden Bay Hardship Fund, opened in October 2023,
spent €1.2 million in 2025 and supported 3,180 households.

---

## 7. Lessons

The Energy Department draws three lessons from the Harbour Heat Programme. The seawater intake shaft should have
been closed before the autumn storm season, because the insurer refused 60 per cent of the damage claim for storm
Brida. The pipe survey of 2020 inspected only 8 per cent of the network and underestimated corrosion. Residents of
Halden Bay learned of interruptions mostly from neighbours, so Halden Bay Heat introduced text-message warnings in
September 2024.

## 8. Next steps

The Energy Department recommends a fourth heat pump of 20 megawatts at the Sandmoor wastewater works. The estimated
cost of the Sandmoor heat pump is €34 million, and the City Council is to decide on it by 30 September 2026. With
the Sandmoor heat pump the share of gas in the Halden Bay network would fall from 21 per cent in 2025 to about 8 per
cent in 2029.

Halden Bay Heat also plans to replace a further 19 kilometres of pipe by the end of 2028 and to lower the supply
temperature to 75 degrees Celsius in the same year. The Energy Department does not propose any further increase of
the heat price before 2028.
"""

COMMITTEE_MINUTES = """
# Minutes of the Energy Committee, Halden Bay City Council

Meeting of 10 March 2026, Harbour Hall, 18:00 to 20:35. Chair: Councillor Ingrid Maule. Present: nine of eleven
members. Guests: Tomas Wray (Halden Bay Heat), Dr Selma Orton (Northfold Institute), Piet Lammers (Ratepayers'
Association).

## Item 1: Closing report on Harbour Heat

Tomas Wray presented the closing report of the Harbour Heat Programme and repeated that the third heat pump entered
service on 21 November 2024. Councillor Dunmore asked why the closing report leaves out the Mill Quay substation.
Tomas Wray answered that the substation belongs to the city's electricity company, serves the harbour railway as
well and is paid through grid charges.

Piet Lammers said that residents cannot compare two different totals and asked for an independent statement of
accounts. The Energy Committee resolved by seven votes to two to ask the City Audit Office for a statement of the
full programme cost by 30 June 2026.

## Item 2: Performance and complaints

Dr Selma Orton reported that the heat pumps reached a seasonal coefficient of performance of 3.12 in 2025 and missed
the design value of 3.30. Dr Selma Orton named fouling of the seawater heat exchangers as the main cause and
recommended cleaning every eight weeks instead of every sixteen weeks.

Halden Bay Heat recorded 96 noise complaints from the Kettle Point quarter in 2024 and 14 noise complaints in 2025.
Tomas Wray explained that acoustic walls built for €0.4 million lowered the night-time level at the nearest dwelling
from 47 to 39 decibels after March 2025.

## Item 3: Tariffs and hardship

The Energy Committee took note that the heat price fell from €112.60 to €107.90 per megawatt-hour on 1 January 2026.
Councillor Haddad proposed to extend the Halden Bay Hardship Fund until 2029 with €1.2 million a year. The Energy
Committee adopted the extension unanimously.

## Item 4: Sandmoor heat pump

The Energy Committee discussed the fourth heat pump at the Sandmoor wastewater works, which is estimated at €34
million for 20 megawatts. Councillor Dunmore demanded a fixed-price contract, because the first three heat pumps
exceeded their budget. The Energy Committee postponed its recommendation on Sandmoor to the meeting of 9 June 2026.

## Decisions and actions

| No. | Action | Responsible | Due |
| 1 | Statement of the full programme cost | City Audit Office | 30 June 2026 |
| 2 | Cleaning interval of eight weeks for heat exchangers | Halden Bay Heat | 1 May 2026 |
| 3 | Extension of the Hardship Fund to 2029, €1.2 million a year | City Treasury | 1 October 2026 |
| 4 | Fixed-price tender model for Sandmoor | Energy Department | 26 May 2026 |
"""

GOVERNMENT_REPORT = """
# 青岚市海绵城市改造工程（2021—2025年）总结报告

青岚市水务局　2026年1月20日　提交市人民代表大会常务委员会审议

## 一、背景

青岚市常住人口186万，建成区面积212平方公里，老城区多建于低洼的青岚河左岸。2020年7月18日，青岚市24小时降雨218毫米，
全市出现积水点87处，地铁二号线停运31小时，直接经济损失9.6亿元。灾后调查认为，老城区雨水管网大多按一年一遇标准建
设、雨污合流比例高、河道水位顶托，是内涝的三个主要原因。

2021年3月26日，青岚市人民政府批准《青岚市海绵城市改造工程实施方案》，提出“源头减排、管网提标、调蓄错峰、河道行
洪”四项措施，工期为2021年5月至2025年6月。

## 二、投资与资金来源

截至2025年12月31日，青岚市海绵城市改造工程累计完成投资48.6亿元。2021年批准的概算为41.5亿元，超出概算7.1亿元，增
幅约17%。超概算的主要原因是管网改造长度由310公里增加到386公里，以及柳塘调蓄池地下管线迁改和流砂处理。

| 分项 | 完成投资（亿元） |
| 雨污管网改造386公里 | 18.9 |
| 调蓄池6座 | 11.7 |
| 小区源头减排214个 | 7.3 |
| 泵站新建和扩建9座 | 5.4 |
| 青岚河清淤与生态岸线 | 3.8 |
| 监测与调度平台 | 1.5 |

资金来源包括国家和省级专项补助12.0亿元、地方政府专项债券19.8亿元、市级财政10.6亿元、社会资本6.2亿元。专项债券期
限为15年，自2027年起每年还本约1.3亿元。

---

## 三、建设内容

青岚市在五年内改造雨污管网386公里，其中雨污分流改造241公里。全市建成调蓄池6座，总容积36.5万立方米，其中东渡调蓄
池容积9.0万立方米，规模最大。青岚市新建和扩建排涝泵站9座，总排涝能力由每秒46立方米提高到每秒83立方米。全市214个
老旧小区完成源头减排改造，铺设透水铺装118万平方米，建设雨水花园1,870处。

## 四、实施效果

到2025年底，青岚市87处易涝积水点中有74处完成消除，剩余13处集中在老城区铁路以南和柳塘片区。达到三年一遇及以上标准
的雨水管网占比由2020年的23%提高到2025年的61%。青岚市年径流总量控制率由2020年的54%提高到2025年的74%，比75%的规划
目标低1个百分点。

2025年8月3日，青岚市24小时降雨196毫米，全市出现积水点11处，最长退水时间2.5小时，直接经济损失0.7亿元。2020年“7·18”暴
雨期间，青岚市最长退水时间为14小时。合流制管网溢流次数由2020年的38次减少到2025年的12次，青岚河下游断面水质由劣Ⅴ类
改善为Ⅳ类。

---

## 五、存在的问题

柳塘调蓄池原定2024年9月投用，实际于2025年6月18日投用，推迟9个月。未探明的燃气管道迁改使柳塘调蓄池工期耽误5个月，
流砂地层处理又耽误4个月。海绵设施每年需要运行维护费1.32亿元，而2026年预算只安排0.85亿元，缺口0.47亿元。部分小区
透水铺装堵塞，施工期间共收到投诉3,412件，主要反映占道、停车和噪声问题。

## 六、下一步安排

青岚市计划在2026年至2030年实施海绵城市改造二期工程，估算投资22亿元，重点治理剩余13处易涝积水点。市水务局建议在老
城区建设长3.8公里的滨江深层排水隧道，估算投资9.5亿元，可行性研究应在2026年10月底前完成。从2026年起，市水务局将把
透水铺装的清洗频次由每年1次提高到每年3次，并按季度公布易涝积水点治理进度。
"""

ZH_MINUTES = """
# 青岚市城市内涝治理工作联席会议纪要

时间：2026年3月6日下午2时30分　地点：市政务中心三号会议室　主持人：副市长梁景澄

## 一、二期工程前期工作

市水务局局长陶砚汇报，海绵城市改造二期工程估算投资22亿元，其中滨江深层排水隧道9.5亿元。市财政局提出，2027年起一
期专项债券每年还本约1.3亿元，二期工程新增债券不宜超过8亿元。会议决定，滨江深层排水隧道可行性研究在2026年10月底前
完成，并同步比选“增建两座调蓄池”的替代方案。

## 二、运行维护经费

会议指出，海绵设施运行维护费缺口0.47亿元，若不补足，调蓄池清淤和透水铺装清洗将只能完成计划的六成。会议决定从污水
处理费收入中安排0.30亿元，其余0.17亿元由各区财政分担。污水处理费已于2024年7月1日由每立方米0.95元调整为1.10元，2026年
不再调整。

## 三、柳塘片区问题

柳塘街道代表反映，柳塘调蓄池推迟9个月投用，2024年汛期柳塘片区积水5次，沿街商户损失较大。市水务局说明，柳塘调蓄池
自2025年6月18日投用以来已调蓄雨水7次，累计调蓄31.6万立方米。会议决定对2024年汛期受淹的142家沿街商户给予一次性补
助，每户不超过2万元。

## 四、小区停车与施工扰民

市住建局汇报，214个小区改造共减少停车位1,260个，截至2026年2月已补建840个。会议要求其余420个停车位在2026年9月底前
补齐。

## 五、统一调度

会议认为，泵站、调蓄池、管网和绿地分属四个部门管理，是2025年8月3日北闸泵站启动偏晚的主要原因。会议原则同意成立青
岚市排水调度中心，编制45人，2026年5月底前挂牌。排水调度中心成立后，泵站启动不再需要书面确认，由值班长直接下令。

## 六、议定事项

| 序号 | 事项 | 责任单位 | 完成时限 |
| 1 | 深层排水隧道可行性研究及方案比选 | 市水务局 | 2026年10月31日 |
| 2 | 补足运行维护费缺口0.47亿元 | 市财政局、各区政府 | 2026年5月31日 |
| 3 | 受淹商户一次性补助（142家） | 柳塘街道 | 2026年6月30日 |
| 4 | 补建停车位420个 | 市住建局 | 2026年9月30日 |
| 5 | 青岚市排水调度中心挂牌 | 市水务局 | 2026年5月31日 |
"""

AUDIT_LETTER = """
# City Audit Office of Halden Bay: annual letter for 2025

The City Audit Office examined the accounts of eleven municipal companies for the year 2025 and issued its annual
letter on 27 February 2026. This file is cut off on purpose, so no reader should find any text in it.

## Scope

The City Audit Office sampled 1,420 payments and found the documentation complete in 1,389 cases.
"""


def split_blocks(text: str) -> list[str]:
    """Return the blocks of a text, each with its wrapped lines joined."""
    blocks = re.split(r"\n\n+", text.strip())
    return [block if block.startswith("|") else WIDE.sub("", block).replace("\n", " ") for block in blocks]


def table_rows(block: str) -> list[list[str]]:
    """Return the cells of a block of table rows."""
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]


def typeset_block(block: str) -> str:
    """Return the Typst call that sets one block; strings keep Typst from reading markup in the text."""
    if block == "---":
        return "#pagebreak()"
    if block.startswith("|"):
        rows = table_rows(block)
        cells = ", ".join(json.dumps(cell, ensure_ascii=False) for row in rows for cell in row)
        return f"#table(columns: {len(rows[0])}, {cells})"
    if block.startswith("#"):
        marks, title = block.split(" ", 1)
        return f"#heading(level: {len(marks)}, {json.dumps(title, ensure_ascii=False)})"
    return f"#par({json.dumps(block, ensure_ascii=False)})"


def build_pdf(text: str, *, language: str, issued: datetime.date) -> bytes:
    """Typeset a text as an A4 document that breaks pages between sections only."""
    blocks = split_blocks(text)
    title = json.dumps(blocks[0].removeprefix("# "), ensure_ascii=False)
    head = [
        f"#set document(title: {title}, date: datetime(year: {issued.year}, month: {issued.month}, day: {issued.day}))",
        '#set page(paper: "a4", margin: 2.6cm, numbering: "1")',
        f'#set text(font: ("Noto Sans CJK SC",), lang: "{language}", size: 11pt, cjk-latin-spacing: none)',
        "#set par(leading: 0.9em, spacing: 1.5em)",
    ]
    return typst.compile("\n\n".join(head + [typeset_block(block) for block in blocks]).encode())


def build_docx(path: Path, text: str, *, author: str, issued: datetime.date) -> None:
    """Write a text as a Word document with real headings and tables."""
    document = docx.Document()
    document.styles["Normal"].element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), "Noto Sans CJK SC")
    for block in split_blocks(text):
        if block.startswith("|"):
            rows = table_rows(block)
            table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
            for row in rows:
                for cell, words in zip(table.add_row().cells, row, strict=True):
                    cell.text = words
        elif block.startswith("#"):
            marks, title = block.split(" ", 1)
            document.add_heading(title, level=len(marks))
        else:
            document.add_paragraph(block)
    written = datetime.datetime.combine(issued, datetime.time(9), tzinfo=datetime.UTC)
    properties = document.core_properties
    properties.title = split_blocks(text)[0].removeprefix("# ")
    properties.author, properties.comments = author, "Fictional example document"
    properties.created = properties.modified = written
    document.save(str(path))


def main() -> None:
    """Build all five files."""
    day = datetime.date
    reports = {
        "council-closing-report.pdf": build_pdf(COUNCIL_REPORT, language="en", issued=day(2026, 2, 12)),
        "qinglan-government-report.pdf": build_pdf(GOVERNMENT_REPORT, language="zh", issued=day(2026, 1, 20)),
    }
    for name, content in reports.items():
        (FOLDER / name).write_bytes(content)
    letter = build_pdf(AUDIT_LETTER, language="en", issued=day(2026, 2, 27))
    (FOLDER / "audit-letter-truncated.pdf").write_bytes(letter[: len(letter) // 3])
    minutes = FOLDER / "energy-committee-minutes.docx"
    build_docx(minutes, COMMITTEE_MINUTES, author="Energy Committee", issued=day(2026, 3, 10))
    build_docx(FOLDER / "qinglan-joint-meeting.docx", ZH_MINUTES, author="联席会议办公室", issued=day(2026, 3, 6))


if __name__ == "__main__":
    main()
