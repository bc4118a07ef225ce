"""Replace a file in one step: a crash or a full disk leaves the old one whole."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write beside the target, flush to disk, then rename over it.

    Folders are made as needed. Text is written as UTF-8 with its line ends unchanged.
    A failure removes the temporary file and raises OSError.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
