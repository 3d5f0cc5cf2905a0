"""Stand-in registries of pip and npm, with one package for who has the token."""

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping

WHEEL = "pad-1-py3-none-any.whl"


def registry_of(kind: str, address: str, token: str) -> Callable[[bytes], bytes]:
    """Return what makes an answer from a request."""
    files = _python() if kind == "pip" else _node(address)

    def answer(request: bytes) -> bytes:
        path = request.split(b" ")[1].decode()
        if f"authorization: Bearer {token}".encode() not in request:
            return b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
        if path not in files:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        body = files[path]
        media = {b"{": "application/json", b"<": "text/html"}.get(body[:1], "application/octet-stream")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    return answer


def _python() -> Mapping[str, bytes]:
    packed, about = io.BytesIO(), "pad-1.dist-info"
    members = {
        "pad.py": "SIDE = 'left'\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: pad\nVersion: 1\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in (*members, f"{about}/RECORD"))
    with zipfile.ZipFile(packed, "w") as wheel:
        for name, text in members.items():
            wheel.writestr(name, text)
    listed = f"<a href='/{WHEEL}'>{WHEEL}</a>"
    return {"/simple/pad/": listed.encode(), f"/{WHEEL}": packed.getvalue()}


def _node(address: str) -> Mapping[str, bytes]:
    packed = io.BytesIO()
    members = {"package.json": '{"name":"pad","version":"1.0.0"}', "index.js": "module.exports = 1"}
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    version = {"name": "pad", "version": "1.0.0", "dist": {"tarball": f"{address}/pad-1.0.0.tgz"}}
    about = {"name": "pad", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    return {"/pad": json.dumps(about).encode(), "/pad-1.0.0.tgz": packed.getvalue()}
