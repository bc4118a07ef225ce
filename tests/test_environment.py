"""The two lists of packages: requirements.txt for everybody, environment.yml for a GPU.

That conda solves environment.yml needs its channel; that is not tried here.
"""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers.paths import ROOT


def pins(lines) -> dict[str, str]:
    """Version by name; "" without a pin."""
    found = {}
    for line in lines:
        line = line.partition("#")[0].strip()
        if line and not line.startswith("-"):
            name, _, pin = line.partition("==")
            found[canonicalize_name(name)] = pin
    return found


REQUIRED = pins((ROOT / "requirements.txt").read_text().splitlines())
BOX = yaml.safe_load((ROOT / "environment.yml").read_text())
CONDA = {
    name: pin
    for name, _, pin in (
        text.partition("=") for text in BOX["dependencies"] if isinstance(text, str)
    )
}
(BY_PIP,) = (x["pip"] for x in BOX["dependencies"] if isinstance(x, dict))


def test_the_box_takes_the_list_and_adds_exact_pins_of_its_own():
    assert BY_PIP[0] == "-r requirements.txt"
    added = pins(BY_PIP)
    assert {"vllm", "lm-eval"} <= set(added) and all(added.values())
    assert not set(added) & set(REQUIRED), "a pin stands once"
    assert set(CONDA) == {"python", "make", "git", "pip"}


def test_the_pythons_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    allowed = SpecifierSet(project["project"]["requires-python"])
    assert CONDA["python"] in ("3.11", "3.12") and f"{CONDA['python']}.0" in allowed
    assert "3.12.0" in allowed and "3.10.0" not in allowed
    assert project["tool"]["ruff"]["target-version"] == "py311"


def test_what_is_installed_is_what_is_pinned():
    for name, pin in REQUIRED.items():
        if pin:
            assert version(name).partition("+")[0] == pin, name


def test_the_pins_agree_with_each_other():
    """No pinned package wants another version of a pinned one."""
    for name in REQUIRED:
        for text in requires(name) or ():
            wanted = Requirement(text)
            pin = REQUIRED.get(canonicalize_name(wanted.name))
            here = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
            if pin and here:
                assert wanted.specifier.contains(pin, prereleases=True), (name, text)


def test_trl_accepts_the_pinned_vllm():
    """TRL warns outside the range that its extra states."""
    ranges = [
        Requirement(text).specifier
        for text in requires("trl")
        if re.match(r"vllm\b", text)
    ]
    assert ranges and all(pins(BY_PIP)["vllm"] in allowed for allowed in ranges)


def test_an_installed_vllm_wants_the_same_torch_and_transformers():
    try:
        texts = requires("vllm")
    except PackageNotFoundError:
        pytest.skip("vLLM is not installed: only GPU machines have it")
    for wanted in map(Requirement, texts):
        pin = REQUIRED.get(canonicalize_name(wanted.name))
        if pin and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            assert pin in wanted.specifier, str(wanted)


def test_this_python_is_one_of_them():
    assert sys.version_info[:2] >= (3, 11)
