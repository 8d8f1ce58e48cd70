"""The address guard: what it refuses from the address alone, what it lets pass, and how it reads what it lets pass."""

import socket
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.errors import AddressRefused, SourceError
from deep_research.web.net.guard import Guard, allowed_host, check_ip, ip_literal

HOSTILE_FILE = Path(__file__).parents[5] / "shared/evaldata/hostile/ssrf_addresses.txt"
# In this list it is the one public name; its server redirects inwards, which the client's tests cover.
REDIRECTING_HOST = "http://nicob.net/"

OTHER_PROTOCOLS = """
ftp://example.com/  file:///etc/hosts  file://localhost/etc/passwd  gopher://example.com:80/_GET  dict://example.com:80/
ldap://example.com/  tftp://example.com/  sftp://example.com/  ws://example.com/  data:text/html,hello
javascript:alert(1)  about:blank  blob:http://example.com/1  view-source:http://example.com/  jar:http://example.com!/  netdoc:///etc/hosts
unix:///var/run/docker.sock  http+unix://%2Fvar%2Frun%2Fdocker.sock/info  //example.com/  /etc/passwd  example.com
http:example.com  http:/example.com  http:\\\\example.com\\  http;//example.com/  https:///example.com
mailto:a@example.com
""".split()
LITERALS = """
http://127.0.0.1/  http://127.0.0.2:8080/  http://127.255.255.254/  http://0.0.0.0/  http://0.1.2.3/  http://10.0.0.1/
http://10.255.255.255/  http://172.16.0.1/  http://172.31.255.255/  http://192.168.0.1/  http://192.168.255.1/
http://100.64.0.1/  http://100.127.255.255/  http://100.100.100.200/  http://169.254.1.1/  http://169.254.169.254/latest
http://169.254.170.2/v2/credentials  http://168.63.129.16/machine  http://192.0.0.1/  http://192.0.0.170/
http://192.0.2.1/  http://198.51.100.7/  http://203.0.113.9/  http://198.18.0.1/  http://198.19.255.255/
http://192.88.99.1/  http://224.0.0.1/  http://239.255.255.250/  http://240.0.0.1/  http://255.255.255.255/
http://[::]/  http://[::1]/  http://[0:0:0:0:0:0:0:1]/  http://[::127.0.0.1]/  http://[::ffff:127.0.0.1]/
http://[::ffff:10.0.0.1]/  http://[::ffff:7f00:1]/  http://[0:0:0:0:0:ffff:a9fe:a9fe]/  http://[::ffff:8.8.8.8]/
http://[::ffff:0:127.0.0.1]/  http://[64:ff9b::127.0.0.1]/  http://[64:ff9b::a9fe:a9fe]/  http://[64:ff9b::10.1.2.3]/
http://[64:ff9b:1::7f00:1]/  http://[2002:7f00:1::]/  http://[2002:a9fe:a9fe::1]/  http://[2002:808:808::1]/
http://[2001:0:53aa:64c:0:0:80ff:fffe]/  http://[2001::1]/  http://[2001:2::1]/  http://[2001:10::1]/  http://[2001:db8::1]/
http://[3fff::1]/  http://[3ffe::1]/  http://[fc00::1]/  http://[fd00:ec2::254]/latest  http://[fd20:ce::254]/
http://[fe80::1]/  http://[fe80::1%eth0]/  http://[fe80::1%25eth0]/  http://[fec0::1]/  http://[ff02::1]/
http://[100::1]/  http://[4000::1]/  http://[5f00::1]/  http://[::1%25lo]:8080/  http://[2606:4700::1%eth0]/  http://[::1]:8080/
""".split()
ODD_NUMBERS = """
http://2130706433/  http://017700000001/  http://0x7f000001/  http://0X7F000001/  http://0x7f.1/  http://0x7f.0x0.0x0.0x1/
http://0177.0.0.1/  http://0177.0.0.01/  http://127.1/  http://127.0.1/  http://127.0.0.01/  http://127.0.0.1./
http://127.0.0.1../  http://0/  http://0x/  http://00000000177.1/  http://4294967295/  http://4294967296/
http://127.0.0.256/  http://127.0.0.0x1/  http://1.2.3.4.5/  http://a.127.0.0.1/  http://8.8.8.010/  http://134744072/
http://0x08080808/  http://8.8.2056/  http://169.254.43518/  http://2852039166/  http://example.com.1/  http://x.0x7f/
""".split()
DISGUISES = [
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://127．0．0．1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://0ｘ7f.1/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://ＬＯＣＡＬＨＯＳＴ/",
    "http://local\u00adhost/",
    "http://loca\u200blhost/",
    "http://metadata。google。internal/",
    "http://169｡254｡169｡254/",
    "http://example.com：80@127.0.0.1/",
    "http://a℀.com/",
    "http://127.0.0.1%2f.example.com/",
    "http://%6c%6f%63%61%6c%68%6f%73%74/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1%00.example.com/",
    "http://example.com%40127.0.0.1/",
    "http://user@example.com/",
    "http://user:word@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1:80/",
    "http://127.0.0.1\\@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\\.internal/",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1?@example.com/",
    "http://exam\tple.com/",
    "http://127.0.0.1\t/",
    "ht\ntp://example.com/",
    "http://example.com/\r\nHost: localhost",
    "http://example.com\x00/",
    "http://example.com/\x7f",
    "http://example.com/\ud800",
    " http://example.com/",
    "http:// example.com/",
    "http://example .com/",
    "http://example.com,127.0.0.1/",
    "http://[::1/",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[v1.::1]/",
    "http://[]/",
    "http://[::1].example.com/",
    "http:///",
    "http://:80/",
    "http://./",
    "http://.example.com/",
    "http://example..com/",
    "http://-$.example.com/",
    f"http://{'a' * 64}.com/",
    f"http://{'a.' * 130}com/",
    f"http://example.com/{'a' * 9000}",
]
LOCAL_NAMES = """
http://localhost/  http://LOCALHOST/  http://localhost./  http://a.localhost/  http://ip6-localhost/  http://printer.local/
http://router.lan/  http://wiki.corp/  http://wiki.intranet/  http://nas.home/  http://nas.home.arpa/  http://db.internal/
http://host.docker.internal/  http://metadata.google.internal/  http://METADATA.google.INTERNAL./  http://metadata/
http://metadata.goog/  http://a.metadata.goog/  http://metadata.tencentyun.com/meta-data/  http://metadata.packet.net/
http://kubernetes.default.svc/  http://kubernetes.default.svc.cluster.local/  http://vault.service.consul/
http://intranet/  http://redis/  http://facebookcorewwwi.onion/  http://a.i2p/  http://a.test/  http://a.invalid/
http://a.example/  http://1.0.0.127.in-addr.arpa/  http://localhost.localdomain/  http://a.private/
""".split()
OTHER_PORTS = [
    f"http://example.com:{port}/" for port in (0, 1, 21, 22, 25, 53, 2375, 3306, 5432, 6379, 9200, 65535, 65536)
]
OTHER_PORTS += [
    "http://example.com:99999999999/",
    "http://example.com:+80/",
    "http://example.com:８０/",
    "http://a.com:8 0/",
]
REFUSED = {
    "other protocols": OTHER_PROTOCOLS,
    "addresses by number": LITERALS,
    "odd numbers": ODD_NUMBERS,
    "disguises": DISGUISES,
    "local names": LOCAL_NAMES,
    "other ports": OTHER_PORTS,
}


@pytest.fixture(autouse=True)
def no_look_up_and_no_socket(monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("The guard touched the network.")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)


def refusal_of(address: str) -> str | None:
    try:
        Guard().check(address)
    except AddressRefused as refusal:
        return str(refusal)
    return None


def test_there_are_enough_hostile_addresses():
    every = [address for addresses in REFUSED.values() for address in addresses]
    assert len(set(every)) == len(every) > 200


@pytest.mark.parametrize("kind", REFUSED)
def test_a_hostile_address_is_refused(kind: str):
    said = {address: refusal_of(address) for address in REFUSED[kind]}
    assert {address for address, refusal in said.items() if refusal is None} == set()
    assert all(refusal.startswith("The address was refused: ") for refusal in said.values() if refusal)
    assert max(len(refusal) for refusal in said.values() if refusal) < 100


def test_every_line_of_the_shared_list_is_refused():
    if not HOSTILE_FILE.is_file():
        pytest.skip("The shared list of hostile addresses is not here.")
    lines = HOSTILE_FILE.read_text(encoding="utf-8").split("\n")
    addresses = [line for line in lines if line.strip() and not line.startswith(REDIRECTING_HOST)]
    assert addresses
    assert [address for address in addresses if refusal_of(address) is None] == []


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTPS://Example.COM:443/A?b=C#d", "https://example.com/A?b=C"),
        ("http://example.com:8080?q=1", "http://example.com:8080/?q=1"),
        ("http://example.com:/a", "http://example.com/a"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://example.com./", "https://example.com/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("https://zh.wikipedia.org/wiki/北京", "https://zh.wikipedia.org/wiki/%E5%8C%97%E4%BA%AC"),
        ("https://zh.wikipedia.org/wiki/%E5%8C%97", "https://zh.wikipedia.org/wiki/%E5%8C%97"),
        ("https://例子.中国/路", "https://xn--fsqu00a.xn--fiqs8s/%E8%B7%AF"),
        ("https://ｅｘａｍｐｌｅ．com/", "https://example.com/"),
        ("https://Bücher.de/", "https://xn--bcher-kva.de/"),
        ("https://example.com/a b|c\\d@127.0.0.1", "https://example.com/a%20b%7Cc%5Cd@127.0.0.1"),
        ("https://example.com/?u=http://127.0.0.1/", "https://example.com/?u=http://127.0.0.1/"),
        ("https://1.1.1.1.com/", "https://1.1.1.1.com/"),
        ("https://localhost.com/", "https://localhost.com/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://11.0.0.1/", "https://11.0.0.1/"),
        ("https://172.32.0.1/", "https://172.32.0.1/"),
        ("https://[2606:4700:0000::1111]:8443/", "https://[2606:4700::1111]:8443/"),
        ("https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b::808:808]/"),
    ],
)
def test_a_public_address_passes_in_one_spelling(address: str, text: str):
    assert Guard().check(address).text == text
    assert Guard().check(text).text == text


@pytest.mark.parametrize(
    ("allowed", "address", "passes"),
    [
        ("searx.corp", "http://searx.corp/", True),
        ("SearX.corp", "https://SEARX.corp:8443/search", True),
        ("searx.corp", "http://searx.corp:22/", False),
        ("searx.corp", "http://a.searx.corp/", False),
        ("searx.corp:8888", "http://searx.corp:8888/", True),
        ("searx.corp:8888", "http://searx.corp/", False),
        ("searxng", "http://searxng:8080/", True),
        ("127.0.0.1:9999", "http://127.0.0.1:9999/", True),
        ("127.0.0.1:9999", "http://2130706433:9999/", False),
        ("127.0.0.1:9999", "http://127.0.0.2:9999/", False),
        ("127.0.0.1:9999", "ftp://127.0.0.1:9999/", False),
        ("127.0.0.1:9999", "http://user@127.0.0.1:9999/", False),
        ("[::1]:9999", "http://[0::1]:9999/", True),
    ],
)
def test_only_the_named_internal_host_passes(allowed: str, address: str, passes: bool):
    guard = Guard(allowed={allowed})
    if passes:
        assert guard.check(address).text.startswith("http")
    else:
        with pytest.raises(AddressRefused):
            guard.check(address)


@pytest.mark.parametrize(
    ("entry", "host"),
    [
        (" Wiki.Corp. ", "wiki.corp"),
        ("http://wiki.corp/", "wiki.corp"),
        ("HTTPS://wiki.corp:8443", "wiki.corp:8443"),
        ("wiki.corp:", "wiki.corp"),
        ("维基.corp", "xn--3jsx02g.corp"),
        ("[0::1]:80", "[::1]:80"),
        ("::1", "[::1]"),
    ],
)
def test_an_allowed_host_may_be_spelled_in_several_ways(entry: str, host: str):
    assert allowed_host(entry) == host
    assert allowed_host(host) == host


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("http://", "empty"),
        ("http://wiki.corp/page", "no path"),
        ("wiki.corp/page", "no path"),
        ("10.0.0.0/8", "networks"),
        ("ftp://wiki.corp", "http"),
        ("*.corp", r"without \*"),
        ("user:pw@wiki.corp", "names a user"),
        ("my wiki", "no valid name"),
        ("wiki.corp?x=1", "no valid name"),
        ("wiki.corp:port", "cannot be told apart"),
        ("wiki.corp:0", "port"),
        ("wiki.corp:70000", "port"),
        ("127.1", "unusual notation"),
        ("[wiki]", "no IPv6 address"),
        ("fe80::1%eth0", "misleading"),
    ],
)
def test_an_allowed_host_that_no_address_matches_is_refused_with_the_reason(entry: str, why: str):
    with pytest.raises(ValueError, match=why):
        allowed_host(entry)


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "10.1.1.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fe80::1%eth0", "fd00::1"]
)
def test_a_resolved_address_that_is_not_public_is_refused(ip: str):
    with pytest.raises(AddressRefused):
        check_ip(ip_address(ip))


@pytest.mark.parametrize("ip", ["1.1.1.1", "223.255.255.255", "2606:4700::1", "64:ff9b::1.1.1.1"])
def test_a_resolved_public_address_passes(ip: str):
    check_ip(ip_address(ip))


@given(st.integers(0, 2**32 - 1))
def test_no_spelling_of_an_ipv4_address_but_the_plain_one_passes(number: int):
    plain = ip_address(number)
    octets = [int(part) for part in str(plain).split(".")]
    spellings = [
        str(number),
        hex(number),
        f"0{number:o}",
        ".".join(map(hex, octets)),
        f"{octets[0]}.{number & 0xFFFFFF}",
    ]
    spellings += [f"[::ffff:{plain}]", f"[::{plain}]", f"{plain}.", ".".join(f"0{octet:o}" for octet in octets)]
    for spelling in spellings:
        with pytest.raises(AddressRefused):
            Guard().check(f"http://{spelling}/")


@given(st.text(max_size=40), st.sampled_from(["http://", "http:", "https://a.com", "http://127.0.0.1", "http://[", ""]))
def test_any_text_is_refused_or_read_as_a_public_host(text: str, start: str):
    try:
        read = Guard().check(start + text)
    except AddressRefused:
        return
    assert read.text.isascii()
    assert not any(character.isspace() for character in read.text)
    assert Guard().check(read.text) == read
    assert ip_literal(read.host) is not None or "." in read.host


def test_a_refusal_is_an_error_of_the_source():
    assert issubclass(AddressRefused, SourceError)
