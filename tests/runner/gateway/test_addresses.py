"""Which spellings of a host are read, which patterns fit it, and which addresses an agent may reach."""

import ipaddress

import pytest

from runner.gateway.network.addresses import (
    BadAuthorityError,
    NetworkRules,
    address_refusal,
    host_and_port,
    is_public_address,
    reachable_addresses,
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("example.org:443", ("example.org", 443)),
        ("EXAMPLE.Org:8443", ("example.org", 8443)),
        ("example.org.:443", ("example.org", 443)),
        ("xn--bcher-kva.example:443", ("xn--bcher-kva.example", 443)),
        ("_dmarc.example.org:1", ("_dmarc.example.org", 1)),
        ("93.184.216.34:443", ("93.184.216.34", 443)),
        ("[2001:4860::8888]:443", ("2001:4860::8888", 443)),
        ("[2001:4860:0::08888]:443", None),
        ("[2001:4860:0:0::8888]:443", ("2001:4860::8888", 443)),
    ],
)
def test_a_host_has_one_spelling(text: str, read: tuple[str, int] | None) -> None:
    if read is None:
        with pytest.raises(BadAuthorityError):
            host_and_port(text)
    else:
        assert host_and_port(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "", ":443", "example.org", "example.org:", "example.org:0", "example.org:65536", "example.org:+80",
        "example.org: 80", "example.org:８０", "user@example.org:443", "example.org@evil.org:443",
        "exam%70le.org:443", "example.org%00.evil.org:443", "bücher.example:443", "example。org:443",
        "2130706433:80", "0x7f000001:80", "0x7f.1:80", "127.1:80", "0177.0.0.1:80", "127.0.0.01:80",
        "127.0.0.1.:80x", "1.2.3.4.5:80", "foo.0x7f:80", "foo.1:80", "example..org:80", ".example.org:80",
        "example.org..:80", "-a.example.org:80", "a" * 64 + ".org:80", "a." * 127 + "org:80",
        "[::1:80", "::1:80", "[::1]x:80", "[fe80::1%eth0]:80", "[1.2.3.4]:80", "[]:80", "example.org\t:80",
        "example.org/:80", "example.org#:80", "*.example.org:80", "example.org:80:80",
    ],
)  # fmt: skip
def test_a_spelling_that_could_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(BadAuthorityError):
        host_and_port(text)


@pytest.mark.parametrize(
    ("pattern", "host", "port", "fits"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("Example.ORG.", "example.org", 443, True),
        ("example.org", "example.org", 22, False),
        ("example.org:22", "example.org", 22, True),
        ("example.org:22", "example.org", 443, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "notexample.org", 443, False),
        ("example.org", "example.org.evil.com", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "notexample.org", 443, False),
        ("*.example.org:8443", "www.example.org", 8443, True),
        ("*", "example.org", 443, False),
        ("*.", "example.org", 443, False),
        ("w*.example.org", "www.example.org", 443, False),
        ("*.0.0.1", "127.0.0.1", 443, False),
        ("93.184.216.34", "93.184.216.34", 443, True),
        ("[2001:4860::8888]:53", "2001:4860::8888", 53, True),
        ("https://example.org", "example.org", 443, False),
        ("", "example.org", 443, False),
    ],
)
def test_a_pattern_fits_what_it_says_and_nothing_else(pattern: str, host: str, port: int, fits: bool) -> None:
    assert (address_refusal(NetworkRules("list", (pattern,)), host, port) == "") is fits


def test_a_refusal_says_which_rule_and_what_to_add() -> None:
    assert address_refusal(NetworkRules("list"), "example.org", 443) == (
        "network: list does not allow example.org: add it to `tools: {network: […]}` of the column"
    )
    assert "allow example.org:22:" in address_refusal(NetworkRules("list"), "example.org", 22)
    assert "network: none does not allow example.org" in address_refusal(
        NetworkRules("none", ("example.org",)), "example.org", 443
    )
    assert address_refusal(NetworkRules("full"), "example.org", 22) == ""
    assert "none" in address_refusal(NetworkRules("everything"), "example.org", 443)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.254",
        "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192",
        "192.0.2.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255", "100.100.100.200", "168.63.129.16",
        "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1",
        "2002:7f00:1::", "3fff::1", "fc00::1", "fd00:ec2::254", "fd12::1", "fe80::1", "fec0::1", "ff02::1",
    ],
)  # fmt: skip
def test_what_is_not_on_the_internet_is_not_public(address: str) -> None:
    assert not is_public_address(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::101:101"],
)
def test_what_is_on_the_internet_is_public(address: str) -> None:
    assert is_public_address(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "block",
    [
        # The registries of special addresses, whole.
        "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32",
        "192.0.0.170/31", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "240.0.0.0/4", "255.255.255.255/32",
        "::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
        "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48",
        "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48",
        "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
        # And what is in neither: multicast, the old site-local ones, other forms of IPv4 inside IPv6.
        "224.0.0.0/4", "ff00::/8", "fec0::/10", "::/96", "::ffff:0:0:0/96",
    ],
)  # fmt: skip
def test_no_special_address_of_the_registries_is_public(block: str) -> None:
    network = ipaddress.ip_network(block)
    middle = network.network_address + network.num_addresses // 2
    for address in (network.network_address, middle, network.broadcast_address):
        assert not is_public_address(address)
        if isinstance(address, ipaddress.IPv4Address):
            high, low = divmod(int(address), 1 << 16)
            for inside in (f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{high:x}:{low:x}::"):
                assert not is_public_address(ipaddress.IPv6Address(inside))


def permitted(private_hosts: tuple[str, ...], host: str, port: int, *addresses: str) -> list[str]:
    rules = NetworkRules("full", private_hosts=private_hosts)
    known = map(ipaddress.ip_address, addresses)
    return [str(one) for one in reachable_addresses(rules, host, port, known, lambda _: False)]


def test_a_private_address_is_reached_only_where_the_operator_named_the_host() -> None:
    assert permitted((), "db.corp", 443, "10.0.0.1") == []
    assert permitted(("db.corp",), "db.corp", 443, "10.0.0.1") == ["10.0.0.1"]
    assert permitted(("db.corp",), "db.corp", 5432, "10.0.0.1") == []
    assert permitted(("db.corp:5432",), "db.corp", 5432, "10.0.0.1", "fd12::1") == ["10.0.0.1", "fd12::1"]
    assert permitted(("db.corp",), "evil.org", 443, "10.0.0.1") == []
    assert permitted((), "mixed.org", 443, "10.0.0.1", "1.1.1.1") == ["1.1.1.1"]


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "fd20:ce::254",
     "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
     "255.255.255.255", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "::a9fe:a9fe",
     "::ffff:0:a9fe:a9fe", "2001:0:101:101::5601:5601"],
)  # fmt: skip
def test_not_even_the_operator_can_open_the_metadata_service_or_what_is_no_host(address: str) -> None:
    assert permitted(("cloud.corp", address), "cloud.corp", 443, address) == []
