"""How a result was made: versions, revision, parameters, seeds, machine, time.

A stamp can be published: it holds no home folder, user name, host name, environment
variable or key.
"""

import json
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from helpers.files import write_atomically
from helpers.paths import ROOT

REQUIREMENTS = ROOT / "requirements.txt"
SECRET_NAME = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
# An absolute path: /a/b, ~/a, ~user/a, C:\a; not the path of a URL.
ABSOLUTE_PATH = re.compile(r"(?<![\w:/.])(?:~[\w.-]*|[A-Za-z]:)?[/\\][^\s'\",;:]*")
URL_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")


def _shorten(text: str) -> str:
    path = Path(text)
    if path == Path.home():
        return "~"
    if path.is_relative_to(ROOT):
        return path.relative_to(ROOT).as_posix()
    return re.split(r"[/\\]", text.rstrip("/\\"))[-1]


def publishable(value, name: str = ""):
    """A parameter value without paths of this machine, logins and keys."""
    if SECRET_NAME.search(name) and isinstance(value, str):
        return "(not recorded)"
    if isinstance(value, dict):
        return {key: publishable(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [publishable(item, name) for item in value]
    if isinstance(value, str | Path):
        if ABSOLUTE_PATH.match(str(value)):  # all of it is one path, spaces too
            return _shorten(str(value))
        text = URL_LOGIN.sub("", str(value))
        return ABSOLUTE_PATH.sub(lambda match: _shorten(match.group()), text)
    return value


def _versions() -> dict[str, str | None]:
    """Installed versions of the direct dependencies; None when one is absent."""
    found = {}
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        requirement = re.match(r"[A-Za-z0-9][\w.-]*", line)
        if requirement is None:  # a comment, an option or a blank line
            continue
        try:
            found[requirement.group()] = version(requirement.group())
        except PackageNotFoundError:
            found[requirement.group()] = None
    return found


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _revision() -> tuple[str | None, bool | None]:
    """Revision, and whether files outside figures/ differ from it; None without git."""
    top = _git("rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != ROOT:  # an unpacked copy in another tree
        return None, None
    changed = _git("status", "--porcelain", "--", ".", ":(exclude)figures")
    return _git("rev-parse", "HEAD"), None if changed is None else bool(changed)


def stamp(notebook: str, parameters: dict, seeds) -> dict:
    """Everything a reader needs to make the same result again.

    Args:
        notebook: its name, or a word for the whole run.
        parameters: values as given to the notebook; paths and keys are shortened.
        seeds: a seed, or seeds by name.

    Returns:
        A dict of JSON types. A version or revision that is not known is None.
    """
    revision, dirty = _revision()
    return {
        "notebook": notebook,
        "python": platform.python_version(),
        "platform": {
            "machine": platform.machine(),
            "system": platform.system(),
            "cpus": os.cpu_count(),
        },
        "versions": _versions(),
        "git": {"revision": revision, "dirty_outside_figures": dirty},
        "parameters": publishable(parameters),
        "seeds": publishable(seeds),
        "time_utc": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write_stamp(path: Path, notebook: str, parameters: dict, seeds, **more) -> dict:
    """Write a stamp as JSON, with further entries `more`, and return it."""
    content = stamp(notebook, parameters, seeds) | publishable(more)
    write_atomically(path, json.dumps(content, indent=2) + "\n")
    return content
