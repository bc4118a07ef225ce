"""Prompt templates: `prompts/NAME.LANGUAGE.md`, one message each, `$name` to fill in.

All prompts are the kit's own words, made from the papers' description of what each
role is asked.
"""

import hashlib
from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "prompts"


@cache
def _read(name: str, language: str) -> Template:
    path = FOLDER / f"{name}.{language}.md"
    if not path.is_file():
        raise ValueError(f"no prompt {path.name}: see helpers/agents/prompts")
    return Template(path.read_text(encoding="utf-8").rstrip("\n"))


def render(name: str, language: str, **values: object) -> str:
    """Fill a template; values are put in as they are.

    Raises:
        ValueError: no such template, or a value missing or not used by it.
    """
    template = _read(name, language)
    wanted = set(template.get_identifiers())
    if wanted != set(values):
        odd = ", ".join(sorted(wanted ^ set(values)))
        raise ValueError(f"prompt {name}.{language}: missing or unused values: {odd}")
    return template.substitute(values)


def fingerprint(*names: str) -> str:
    """12 hex digits over the templates named, in both languages."""
    digest = hashlib.sha256()
    for name in names:
        for language in ("en", "zh"):
            digest.update(_read(name, language).template.encode() + b"\0")
    return digest.hexdigest()[:12]
