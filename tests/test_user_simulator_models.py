"""Section 2.14 of notebook 02: models play the roles, or one line says why not."""

import json
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from fake_llm import KEY, chat, error
from llm_cards import CALLS, EMOTION, REPLY, make_card, rating, tool_call

from helpers import paths, profiles
from helpers.agents.empa_judge import MDEP_RANGES
from helpers.paths import NOTEBOOKS
from helpers.sandbox.episode import RunSettings

pytest_plugins = ["llm_plugin"]


def sources():
    """The code cells between the heading of 2.14 and the results."""
    found, inside = [], False
    for cell in nbformat.read(NOTEBOOKS / "02_user_simulator.ipynb", 4).cells:
        if cell.cell_type == "markdown":
            inside = cell.source.startswith("## 2.14")
        elif inside:
            found.append(cell.source)
    return found


@pytest.fixture
def section(monkeypatch, tmp_path, capsys):
    """Run the section at a profile; returns (shown table or None, printed text)."""
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def play(profile):
        shown = []
        names = {
            "settings": replace(profiles.settings("02", profile), llm_cards=1),
            "run": SimpleNamespace(profile=profiles.get(profile)),
            "audited": [make_card()],
            "show": shown.append,
            "pd": pd,
            "RunSettings": RunSettings,
            "PROFILE": profile,
            "SEED": 0,
            "USER_MODEL": "",
            "POLICY_MODEL": "",
        }
        for source in sources():
            exec(compile(source, "section 2.14", "exec"), names)
        return (shown[0] if shown else None), capsys.readouterr().out

    return play


def answer(body):
    """Kind to every role: the emotion rises by 10, every need is met by 3 a turn."""
    text = "\n".join(m["content"] for m in body["messages"])
    if "tools" in body:
        return tool_call("observe_and_wait", CALLS["observe_and_wait"])
    if "C.Prog" in text:
        up = dict.fromkeys(("C.Prog", "A.Prog", "P.Prog"), 2)
        return chat(json.dumps(rating(MDEP_RANGES, **up)))
    if "TargetCompletion" in text:
        return chat(json.dumps(EMOTION | {"Change": 10}))
    if "Origin" in text:
        return chat(json.dumps(REPLY))
    return chat("Words.")


def test_both_papers_roles_play_and_resume(server, section, monkeypatch):
    server.script = [answer]
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    table, _ = section("gpu")
    table = table.set_index("roles")
    assert table.loc["sage", ["ending", "final emotion", "turns"]].tolist() == [
        "success", 100, 6,
    ]  # fmt: skip
    assert table.loc["empa", ["ending", "turns"]].tolist() == ["success", 12]
    assert (table["failure"] == "").all()
    calls = server.calls
    again, _ = section("gpu")
    assert again.equals(table.reset_index()) and server.calls == calls


def test_no_server_is_one_clear_line(section):
    table, printed = section("paper")
    assert table is None
    assert printed.startswith("not run: no server: set OPENAI_BASE_URL")
    assert "USER_MODEL" in printed and len(printed.splitlines()) == 1


def test_a_refused_key_is_one_clear_line(server, section, monkeypatch):
    server.script = [error(401, "bad key")]
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    table, printed = section("gpu")
    assert table is None and printed.startswith("not run: ") and KEY not in printed


@pytest.mark.parametrize("profile", ["smoke", "laptop"])
def test_scripted_profiles_ask_nobody(server, section, monkeypatch, profile):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    table, printed = section(profile)
    assert table is None and server.calls == 0
    assert f"profile {profile} plays every role by rule" in printed
