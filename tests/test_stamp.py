import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.reporting import stamp as module
from helpers.reporting.stamp import publishable, stamp, write_stamp


def test_versions_are_those_of_the_requirements():
    versions = stamp("03_x", {}, 0)["versions"]
    assert versions["papermill"] == "2.7.0"
    assert versions["torch"].startswith("2.13.0")
    assert set(versions) > {"numpy", "pandas", "pytest-httpserver"}
    assert not any(name.startswith("-") for name in versions)


def test_torch_is_not_imported():
    code = "import sys, helpers.reporting.stamp as s; s.stamp('x', {}, 0); "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_an_absent_package_is_none(tmp_path, monkeypatch):
    listed = tmp_path / "requirements.txt"
    listed.write_text("# a comment\nno-such-package-here==1.0\n-e .\n")
    monkeypatch.setattr(module, "REQUIREMENTS", listed)
    assert stamp("03_x", {}, 0)["versions"] == {"no-such-package-here": None}


def test_no_git_and_no_repository_give_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert stamp("03_x", {}, 0)["git"] == {
        "revision": None,
        "dirty_outside_figures": None,
    }
    monkeypatch.undo()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    assert stamp("03_x", {}, 0)["git"]["revision"] is None


def _git(folder, *arguments):
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", *name, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


def test_dirty_means_outside_figures(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    for name in ("code.py", "figures/a.csv"):
        (tmp_path / name).write_text("1")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "first")
    monkeypatch.setattr(module, "ROOT", tmp_path.resolve())
    (tmp_path / "figures" / "a.csv").write_text("2")
    git = stamp("03_x", {}, 0)["git"]
    assert git["revision"] == _git(tmp_path, "rev-parse", "HEAD")
    assert git["dirty_outside_figures"] is False
    (tmp_path / "code.py").write_text("2")
    assert stamp("03_x", {}, 0)["git"]["dirty_outside_figures"] is True
    # A copy inside somebody else's repository has no revision of its own.
    monkeypatch.setattr(module, "ROOT", (tmp_path / "figures").resolve())
    assert stamp("03_x", {}, 0)["git"]["revision"] is None


@pytest.mark.parametrize(
    ("given", "published"),
    [
        (str(ROOT / "figures" / "smoke"), "figures/smoke"),
        (ROOT / "data", "data"),
        ("/home/alice/secret place/x.csv", "x.csv"),
        ("see /home/alice/x.csv, then ~bob/y", "see x.csv, then y"),
        ("C:\\Users\\alice\\z.csv", "z.csv"),
        ("figures/smoke", "figures/smoke"),
        ("http://alice:pw@localhost:8000/v1", "http://localhost:8000/v1"),
        (str(Path.home()), "~"),
        (0.5, 0.5),
        (["/home/alice/a", 1], ["a", 1]),
    ],
)
def test_paths_and_logins_are_shortened(given, published):
    assert publishable(given) == published


def test_nothing_private_in_a_stamp(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    parameters = {
        "OUT_DIR": str(Path.home() / "results"),
        "API_KEY": "sk-not-a-real-key",
        "NAMES": {"auth_token": "abc123"},
    }
    path = tmp_path / "stamp" / "03.json"
    content = write_stamp(path, "03_x", parameters, {"numpy": 1}, profile="smoke")
    text = path.read_text()
    assert json.loads(text) == content
    assert content["parameters"]["OUT_DIR"] == "results"
    private = ["sk-not-a-real-key", "abc123", str(Path.home()) + "/"]
    private += [platform.node(), f'"{Path.home().name}"']
    assert [word for word in private if word and word in text] == []
