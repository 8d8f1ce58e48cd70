"""The scales, currencies and units that quantities are read in, each with the one name it is known by."""

SCALES = {
    "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "mm": 1e6, "billion": 1e9, "b": 1e9, "bn": 1e9,
    "trillion": 1e12, "tn": 1e12, "百": 1e2, "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8,
    "十亿": 1e9, "百亿": 1e10, "千亿": 1e11, "万亿": 1e12,
}  # fmt: skip
# These letters are a scale only after a currency sign or as capitals: "5 m" is a length, "$5m" is money.
LOOSE_SCALES = frozenset({"k", "m", "mm", "b"})

CURRENCY_SIGNS = {
    "$": "USD", "US$": "USD", "USD": "USD", "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP", "¥": "CNY", "￥": "CNY",
    "RMB": "CNY", "CNY": "CNY", "JPY": "JPY", "HK$": "HKD", "NT$": "TWD", "₹": "INR", "人民币": "CNY",
}  # fmt: skip

UNITS = {
    "dollars": "USD", "dollar": "USD", "usd": "USD", "美元": "USD", "euros": "EUR", "euro": "EUR", "eur": "EUR",
    "欧元": "EUR", "gbp": "GBP", "英镑": "GBP", "yuan": "CNY", "rmb": "CNY", "cny": "CNY", "元": "CNY", "人民币": "CNY",
    "yen": "JPY", "日元": "JPY", "港元": "HKD", "新台币": "TWD", "%": "%", "percent": "%", "per cent": "%",
    "percentage points": "pp", "percentage point": "pp", "pp": "pp", "个百分点": "pp", "basis points": "bp",
    "bps": "bp", "times": "x", "x": "x", "×": "x", "fold": "x", "倍": "x", "kg": "kg", "kilograms": "kg", "公斤": "kg",
    "千克": "kg", "g": "g", "grams": "g", "克": "g", "mg": "mg", "毫克": "mg", "tons": "t", "tonnes": "t", "ton": "t",
    "tonne": "t", "吨": "t", "lb": "lb", "lbs": "lb", "pounds": "lb", "km": "km", "kilometers": "km",
    "kilometres": "km", "公里": "km", "千米": "km", "m": "m", "meters": "m", "metres": "m", "米": "m", "cm": "cm",
    "厘米": "cm", "mm": "mm", "毫米": "mm", "nm": "nm", "纳米": "nm", "miles": "mi", "hectares": "ha", "公顷": "ha",
    "kw": "kW", "mw": "MW", "gw": "GW", "tw": "TW", "kwh": "kWh", "mwh": "MWh", "gwh": "GWh", "twh": "TWh",
    "千瓦": "kW", "兆瓦": "MW", "吉瓦": "GW", "千瓦时": "kWh", "兆瓦时": "MWh", "吉瓦时": "GWh", "°c": "°C", "℃": "°C",
    "摄氏度": "°C", "°f": "°F",
    "seconds": "s", "second": "s", "秒": "s", "ms": "ms", "minutes": "min", "minute": "min", "分钟": "min",
    "hours": "h", "hour": "h", "小时": "h", "days": "day", "day": "day", "天": "day", "weeks": "week", "week": "week",
    "周": "week", "months": "month", "month": "month", "个月": "month", "years": "year", "year": "year", "年": "year",
    "gb": "GB", "mb": "MB", "tb": "TB", "people": "people", "人": "people", "名": "people", "employees": "people",
    "users": "people", "patients": "people", "家": "家", "例": "例", "个": "个", "台": "台", "辆": "辆", "套": "套",
    "项": "项", "件": "件", "次": "次", "户": "户",
}  # fmt: skip
