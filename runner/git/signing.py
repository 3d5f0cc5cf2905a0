"""Signatures of commits with an operator's SSH key, made on the host: no workspace ever has the key."""

import base64
import binascii
from collections.abc import Callable

from runner.errors import SigningError
from runner.exec.child import Child, finish
from runner.git.commits import Commit, commit_text
from runner.run.run_spec import SigningKey

_LIMIT_S = 30.0
_OUTPUT_BYTES = 100_000
# A signature of another kind differs each time, and so would the commit after a crash. Source: RFC 5656, 3.
_CHANCE = (b"ecdsa-", b"sk-ssh-", b"ssh-dss")


def signed(commit: Commit, key: SigningKey, beat: Callable[[], None]) -> bytes:
    """Return the git object of a commit with its signature; the same commit gives the same object.

    Raises SigningError. Source: git-config(1), gpg.format; ssh-keygen(1), -Y sign.
    """
    content = commit_text(commit)
    child = Child(
        ("ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(key.path)),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"},
        cwd=key.path.parent,
        cap_bytes=_OUTPUT_BYTES,
    )
    child.write(content)
    ran = finish(child, what="ssh-keygen", timeout_s=_LIMIT_S, beat=beat)
    rows = ran.out.strip().splitlines()
    if ran.exit_code != 0 or not rows or rows[0] != "-----BEGIN SSH SIGNATURE-----":
        raise SigningError("it cannot be used: is it there, readable, and without a passphrase?")
    try:
        blob = base64.b64decode("".join(rows[1:-1]))
    except binascii.Error as error:
        raise SigningError("ssh-keygen made a signature that is not Base64") from error
    if any(kind in blob for kind in _CHANCE):
        raise SigningError("its kind signs differently each time: make one with `ssh-keygen -t ed25519`")
    head, _, message = content.partition(b"\n\n")
    header = "\n ".join(rows).encode()
    return b"%s\ngpgsig %s\n\n%s" % (head, header, message)
