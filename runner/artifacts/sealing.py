"""Encryption of blobs: AES-256-GCM in pieces, under a key of each blob's own; no piece moves or is missing.

Each piece is bound to the blob's digest, its place, and whether it is the last (the STREAM construction,
eprint.iacr.org/2015/189).
"""

import base64
import binascii
import os
from io import FileIO
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
_MAGIC = b"cardinal-sealed-1\n"
_SALT_BYTES, _TAG_BYTES = 16, 16
_PIECE_BYTES = 1 << 20


class WrongKeyError(Exception):
    """The bytes were sealed with another key, for another blob, or changed since."""


def key_of(text: str) -> bytes:
    """Return the key that a setting holds in base64; nothing for an empty one. Raises ValueError."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("base64 was expected") from error
    if text and len(key) != KEY_BYTES:
        raise ValueError(f"{KEY_BYTES} bytes were expected")
    return key


def seal(source: BinaryIO, target: BinaryIO, key: bytes, digest: str) -> None:
    """Write `source`, from where it stands, encrypted to `target`."""
    salt = os.urandom(_SALT_BYTES)
    target.write(_MAGIC + salt)
    cipher, position = _cipher(key, salt), 0
    piece = source.read(_PIECE_BYTES)
    while True:
        following = source.read(_PIECE_BYTES)
        target.write(cipher.encrypt(_nonce(position), piece, _part_label(digest, last=not following)))
        if not following:
            return
        piece, position = following, position + 1


def is_sealed(file: FileIO) -> bool:
    """Tell whether a file, at its beginning, is encrypted; it stays there."""
    begins = file.read(len(_MAGIC))
    file.seek(0)
    return begins == _MAGIC


def unseal(source: FileIO, target: FileIO, key: bytes, digest: str) -> None:
    """Write an encrypted file in clear to `target`. Raises WrongKeyError."""
    with os.fdopen(os.dup(source.fileno()), "rb") as reader:
        reader.seek(len(_MAGIC))
        cipher, position = _cipher(key, reader.read(_SALT_BYTES)), 0
        piece = reader.read(_PIECE_BYTES + _TAG_BYTES)
        while True:
            following = reader.read(_PIECE_BYTES + _TAG_BYTES)
            try:
                target.write(cipher.decrypt(_nonce(position), piece, _part_label(digest, last=not following)))
            except InvalidTag as error:
                raise WrongKeyError from error
            if not following:
                return
            piece, position = following, position + 1


def _cipher(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt, b"cardinal blob").derive(key))


def _nonce(place: int) -> bytes:
    return place.to_bytes(12, "big")  # never twice: the key is the blob's own


def _part_label(digest: str, *, last: bool) -> bytes:
    return f"{digest} {'last' if last else 'more'}".encode()
