"""Thirty dialogues at once through a real HTTP server of fixed latency."""

import json
import subprocess
import sys
import time

import pytest
from llm_cards import EMOTION, REPLY

from helpers.agents.llm import LLMClient
from helpers.agents.llm_policy import LLMPolicy
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.sage import SageUser, sage_settings
from helpers.data.scenarios import load_cards
from helpers.sandbox.episode import RunSettings
from helpers.sandbox.run import run_many
from helpers.sandbox.store import read_dialogues

# One second is short for a model. All dialogues are in step here, so thirty replies
# come at the same moment and wait for one another: the worst case.
LATENCY, TURNS, CASES = 1.0, 2, 30


# A server of its own process, as a real one is: its work is not the kit's.
SERVER = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

latency, emotion, reply = float(sys.argv[1]), sys.argv[2], sys.argv[3]

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        time.sleep(latency)
        text = "I am here."
        if '\\\\"Change\\\\"' in body:
            text = reply if '\\\\"Response\\\\"' in body else emotion
        choice = {"index": 0, "finish_reason": "stop"}
        choice["message"] = {"role": "assistant", "content": text}
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        answer |= {"choices": [choice]}
        answer["usage"] = dict.fromkeys(("prompt_tokens", "completion_tokens"), 1)
        answer["usage"]["total_tokens"] = 2
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass

class Server(ThreadingHTTPServer):
    request_queue_size = 128

server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture
def address():
    words = [str(LATENCY), json.dumps(EMOTION), json.dumps(REPLY)]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, *words], stdout=subprocess.PIPE, text=True
    )
    yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    process.kill()
    process.wait()


def test_thirty_cases_finish_with_the_longest(address, tmp_path):
    roles = {
        "user": sage_settings("simulator", concurrency=CASES),
        "policy": RoleSettings("tested", concurrency=CASES),
    }
    llm = LLMClient(roles, tmp_path, base_url=address)
    settings = RunSettings(TURNS, RunSettings.sage().emotion, None)
    policy, user = LLMPolicy(llm, "sage", "en"), SageUser.benchmark(llm)
    cards = load_cards("test")[:CASES]
    # Warm up imports, threads and connections: a policy's reply, not in the run.
    llm.complete("policy", [{"role": "user", "content": "warm up"}])

    calls = 3 * TURNS - 1  # reply, feeling, next line; after the last no line is asked
    critical, best = calls * LATENCY, float("inf")
    for attempt in range(3):  # the best of three: other work may share the machine
        path = tmp_path / f"{attempt}.jsonl"
        start = time.perf_counter()
        run_many(
            cards, policy, user, None, None, settings,
            base_seed=attempt, path=path, workers=CASES,
        )  # fmt: skip
        best = min(best, time.perf_counter() - start)
        stored = list(read_dialogues(path))
        assert len(stored) == CASES and all(d.failure is None for d in stored)
        assert all(len(d.turns) == TURNS for d in stored)
        made = llm.ledger.totals()["all"]["attempts"]
        assert made == 1 + (attempt + 1) * CASES * calls
        if best <= 1.15 * critical:
            break
    assert best <= 1.15 * critical, f"{best:.2f} s, critical path {critical:.2f} s"
