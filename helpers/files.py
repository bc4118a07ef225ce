"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes | str) -> Path:
    """Replace `path` by `data` in one step; on any failure the old file stays whole.

    Args:
        path: target; missing parent folders are made.
        data: bytes, or text (written as UTF-8 with the line ends it has).

    Returns:
        The path, for chaining.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, str):
        data = data.encode("utf-8")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
