"""Parameters that a server refuses: adapted to once, recorded, not asked again."""

import pytest
from fake_llm import HELLO, chat, client, error, ledger_of

from helpers.agents.quirks import Quirks
from helpers.agents.roles import Outcome

LEVEL = '{"level": 2}'

pytest_plugins = ["llm_plugin"]


def picky(refused):
    """A server that refuses parameters, each with the words that real ones use."""
    words = {
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this "
        "model. Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0.5 with this"
        " model. Only the default (1) value is supported.",
        "response_format": "'response_format.type' must be 'json_schema' or 'text'",
        "max_completion_tokens": "Unexpected fields: {'max_completion_tokens'}",
    }

    def answer(body):
        for name in refused:
            if name in body:
                return error(400, words[name], param=name)
        return chat(LEVEL)

    return answer


@pytest.mark.parametrize("name", ["max_tokens", "temperature", "response_format"])
def test_quirk_is_adapted_to_once(server, tmp_path, name):
    server.script = [picky([name])]
    with client(server, tmp_path) as llm:
        reply = llm.complete("judge", HELLO, json=True)
        assert (reply.data, reply.attempts) == ({"level": 2}, 1)
        assert reply.refused == (name,) and server.calls == 2
        assert llm.served()[0]["left_out"] == (name,)
        llm.complete("judge", HELLO, json=True, repeat=1)
        assert server.calls == 3 and name not in server.bodies[2]
        assert ledger_of(llm) == (2, 20, 10)
    with client(server, tmp_path) as later:
        later.complete("judge", HELLO, json=True, repeat=2)
    assert server.calls == 4 and name not in server.bodies[3]
    if name == "max_tokens":
        assert server.bodies[3]["max_completion_tokens"] == 50


def test_all_quirks_at_once(server):
    refused = ["max_tokens", "max_completion_tokens", "temperature", "response_format"]
    server.script = [picky(refused)]
    llm = client(server)
    assert llm.complete("judge", HELLO, json=True).data == {"level": 2}
    assert server.calls == 5 and set(server.bodies[4]) == {"model", "messages"}


def test_quirk_in_a_fastapi_error(server):
    from werkzeug import Response

    said = '{"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not'
    said += ' permitted"}]}'

    def answer(body):
        if "temperature" in body:
            return Response(said, 422, content_type="application/json")
        return chat("ok")

    server.script = [answer]
    assert client(server).complete("policy", HELLO).text == "ok"


def test_a_wrong_value_is_no_quirk(server):
    server.script = [error(400, "max_tokens is too large: 50 > 40", param="max_tokens")]
    llm = client(server)
    reply = llm.complete("policy", HELLO)
    assert reply.outcome is Outcome.API_ERROR and server.calls == 1
    assert llm.quirks.refused(llm.base_url, "m") == ()


def test_not_a_quirks_file(tmp_path):
    (tmp_path / "quirks.json").write_text("[")
    with pytest.raises(ValueError, match="delete it"):
        Quirks(tmp_path / "quirks.json")
