"""What holds for the tree as a whole: set-up, directions, sizes, privacy."""

import ast
import os
import re
import subprocess
import sys

import pytest

from helpers.paths import ROOT

ROOMS = ["data", "agents", "sandbox", "scoring", "learning", "reporting"]
# Leaves that any room may use: paths, files, and EMPA's formulas, which the simulated
# user's stop rules need while a dialogue runs. They use nothing else of the kit.
LEAVES = {
    "helpers.paths",
    "helpers.files",
    "helpers.scoring.rubric",
    "helpers.scoring.epm",
    "helpers.scoring.geometry",
    "helpers.scoring.verdicts",
}
MODULES = sorted((ROOT / "helpers").rglob("*.py"))


def tracked():
    """Files under version control, or all files of the tree without git."""
    try:
        names = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not at hand: the list of committed files is unknown")
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def imports(path):
    """Modules imported when the file runs (not those for type checkers only)."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names)


def room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else None


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_is_small_documented_and_imports_forward(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 380
    own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), "a module says what it is for"
    for module in imports(path):
        if module.startswith("helpers.") and module not in LEAVES and room(own):
            allowed = ROOMS[: ROOMS.index(room(own)) + 1]
            leaf = any(module.startswith(f"{name}.") for name in LEAVES)
            target = room(module)
            assert leaf or target is None or target in allowed, f"{own} <- {module}"


def test_leaves_use_nothing_of_the_kit():
    for name in LEAVES:
        path = ROOT / (name.replace(".", "/") + ".py")
        used = {m for m in imports(path) if m.startswith("helpers.")}
        assert all(any(m.startswith(leaf) for leaf in LEAVES) for m in used), name


def test_requirements_are_pinned_and_name_no_address():
    lines = [
        line
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert "-e ." in lines and "numpy" in lines
    for line in lines:
        assert line in ("-e .", "numpy") or re.fullmatch(r"[\w.\-]+==[\w.]+", line), (
            line
        )
    assert not {"httpx", "respx"} & {line.split("==")[0] for line in lines}


def test_the_gpu_box_takes_the_same_pins():
    text = (ROOT / "environment.yml").read_text()
    assert "-r requirements.txt" in text and "vllm==0.31.0" in text
    assert "torch" not in text, "a pin stands once"


def test_ci_calls_the_test_command_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [x for x in lines if x and not x.startswith("#")]
    assert commands == ["set -e", 'cd "$(dirname "$0")/.."', "exec make test"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "make test" in (ROOT / "README.md").read_text()


def test_make_knows_its_targets():
    text = (ROOT / "Makefile").read_text()
    for target in ("reproduce", "test", "lab", "lint", "clean"):
        assert re.search(rf"^{target}:", text, re.M), target
    done = subprocess.run(
        ["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0 and "-m pytest" in done.stdout


def make_env(tmp_path, script):
    """`make env` in a copy of the Makefile, with a python made of a shell script."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return subprocess.run(
        ["make", "env", f"PYTHON={python}"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
        capture_output=True,
        text=True,
    )


def test_an_old_python_is_refused_in_one_line(tmp_path):
    # This python runs the check of the Makefile as if it were 3.9.
    check = (
        "exec \"$REAL\" -c \"import sys; sys.version_info = (3, 9, 1); exec('''$2''')\""
    )
    done = make_env(
        tmp_path, f'REAL={sys.executable}; test "$1" = -c && {check}; exit 0'
    )
    assert done.returncode != 0 and "Python 3.9 is too old" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path):
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "thesis.txt").write_text("dear")
    done = make_env(tmp_path, "exit 0")
    assert done.returncode != 0 and "not a virtual environment" in done.stdout
    assert (tmp_path / ".venv" / "thesis.txt").read_text() == "dear"


ADDRESS = re.compile(
    r"(pypi|pythonhosted|npmjs|conda\.anaconda)\.(org|com)|--(extra-)?index-url"
)
HOME = re.compile(r"(?<![\w.])/(home|root|Users)/\w+")
KEY = re.compile(r"\b(sk-[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\b")


def test_no_address_no_home_path_no_key():
    for path in tracked():
        if path.suffix in {".gz", ".png", ".safetensors"}:
            continue
        if path.parent.name == "tests" and path.suffix == ".py":
            continue  # tests hold such words on purpose
        text = path.read_text(encoding="utf-8")
        for pattern in (ADDRESS, HOME, KEY):
            found = pattern.search(text)
            assert not found, f"{path.relative_to(ROOT)}: {found[0]}"


def test_nothing_large_is_committed():
    for path in tracked():
        assert path.stat().st_size < 3_000_000, path.relative_to(ROOT)
