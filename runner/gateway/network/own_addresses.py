"""The addresses of this host itself, whatever range they are in: the kernel is probe."""

import errno
import socket

from runner.gateway.network.addresses import Address, plain_address

# linux/in.h, in6.h: the size of a packet on the route of a connected socket. The loopback device alone takes
# more than the largest packet of IP; nothing else shows an address behind a `local` route of IPv6.
_ROUTE_MTU = {4: (socket.IPPROTO_IP, 14), 6: (socket.IPPROTO_IPV6, 24)}
_LARGEST_PACKET = 65_535
# Nobody has these (RFC 5737, RFC 3849): where one can be bound, the kernel lets everything be bound.
_NOBODYS = {4: "192.0.2.1", 6: "2001:db8::1"}


def is_own_address(address: Address) -> bool:
    """Whether a connection to `address` would stay on this host, by its interfaces or its routes.

    Nothing is sent. The kernel gives a connection to itself the same address at both ends; where a route says
    so (`local` routes), it lets a program bind the address.
    """
    plain = plain_address(address)
    return _leads_back(str(plain), plain.version) or (
        _can_bind(str(plain), plain.version) and not _can_bind(_NOBODYS[plain.version], plain.version)
    )


def _socket(version: int) -> socket.socket:
    return socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)


def _leads_back(address: str, version: int) -> bool:
    try:
        with _socket(version) as probe:
            probe.connect((address, 9))  # datagrams: the route is looked up, and nothing leaves
            mtu = probe.getsockopt(*_ROUTE_MTU[version])
            return bool(probe.getsockname()[0] == address) or mtu > _LARGEST_PACKET
    except OSError:
        return False  # there is no way to it: then nothing answers there either


def _can_bind(address: str, version: int) -> bool:
    try:
        with _socket(version) as probe:
            probe.bind((address, 0))
        return True
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return False
        raise
