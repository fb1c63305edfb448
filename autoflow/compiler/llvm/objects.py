"""Machine code kept on disk, for later processes: ``af.compile(f, engine="llvm", cache=folder)``.

Anyone who can write into the folder decides what is run. So it belongs to the user, and no one else may write into it
or into one of its files. That is asked of what has been opened, not of a path, which may soon be another thing.

The name of a file is a digest of all that machine code depends on (the program's text, LLVM's version, the processor),
so a change of any of them is another file. Its first 32 bytes are a digest of the rest: a file that was cut off or has
changed is compiled anew. A file is written under another name and then renamed, so that a process finds all of it or
nothing, and of two that write at once the last one wins, with the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import warnings
from pathlib import Path

UNSAFE = (
    "af.compile(f, cache={folder!r}): machine code would be run that others can write: {why}. Take a folder of your "
    "own, which only you can write (chmod 700)."
)
UNWRITABLE = "machine code was not kept in {folder!r}: {error}. It will be compiled again in the next process."
DIGEST = hashlib.sha256().digest_size
PRIVATE = 0o700


class Objects:
    """Machine code in a folder, which is made if there is none.

    Raises PermissionError where the folder is not the user's alone, OSError where it cannot be made.

    >>> import tempfile
    >>> objects = Objects(os.path.join(tempfile.mkdtemp(), "code"))
    >>> key = key_of("a program", "a processor")
    >>> objects.read(key)
    >>> objects.write(key, b"its machine code")
    >>> objects.read(key)
    b'its machine code'
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.warned = False
        Path(self.folder).mkdir(PRIVATE, parents=True, exist_ok=True)
        os.close(self.open())

    def open(self) -> int:
        """The folder, opened and looked at; its files are opened from here, whatever its path means by then."""
        place = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        why = what_is_wrong(place)
        if why:
            os.close(place)
            raise PermissionError(UNSAFE.format(folder=self.folder, why=why))
        return place

    def read(self, key: str) -> bytes | None:
        """The machine code; None if there is none that can be trusted."""
        try:
            place = self.open()
        except FileNotFoundError:
            return None
        try:
            with open(os.open(key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place), "rb") as file:
                if what_is_wrong(file.fileno()) or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                content = file.read()
        except OSError:
            return None
        finally:
            os.close(place)
        digest, code = content[:DIGEST], content[DIGEST:]
        return code if code and digest == hashlib.sha256(code).digest() else None

    def write(self, key: str, code: bytes) -> None:
        """Keep it. Where that fails the program runs all the same; a warning says so, once."""
        try:
            place = self.open()
            try:
                write_file(place, key, hashlib.sha256(code).digest() + code)
            finally:
                os.close(place)
        except PermissionError as error:
            if error.errno is None:  # the folder has been opened to others since
                raise
            self.warn(error)
        except OSError as error:
            self.warn(error)

    def warn(self, error: OSError) -> None:
        """Say why nothing is kept."""
        if not self.warned:
            self.warned = True
            message = UNWRITABLE.format(folder=self.folder, error=error.strerror or error)
            warnings.warn(message, RuntimeWarning, stacklevel=2)


def what_is_wrong(opened: int) -> str:
    """Why what is open here cannot be trusted; "" if it can."""
    found = os.fstat(opened)
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    return "its group or others may write" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def write_file(place: int, name: str, content: bytes) -> None:
    """A file that is there with all of its content, or not at all."""
    other = f"{name}.{secrets.token_hex(8)}"
    new = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=place)
    try:
        with open(new, "wb") as file:
            file.write(content)
        os.replace(other, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        os.unlink(other, dir_fd=place)
        raise


def key_of(*parts: str) -> str:
    """The name of the file for all that the machine code depends on: each part with its length, so that none runs into
    the next."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
