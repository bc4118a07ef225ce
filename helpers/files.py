"""Replace a file in one step: a crash or a full disk leaves the old one whole."""

import os
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, content: bytes | str | Iterable[str]) -> None:
    """Write beside the target, flush to disk, then rename over it.

    Folders are made as needed. Text is written as UTF-8 with its line ends unchanged,
    that of an iterable piece by piece. A failure removes the temporary file and raises
    OSError, or what the iterable raised.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pieces = [content] if isinstance(content, bytes | str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            for piece in pieces:
                stream.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
