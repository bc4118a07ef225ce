"""A scripted OpenAI-compatible server on loopback, for the tests of the client."""

import json
import socket
import struct
import threading
from contextlib import contextmanager

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from helpers.agents.llm import LLMClient
from helpers.agents.llm_settings import Clock, RoleSettings

KEY = "sk-test-0123456789abcdef"
CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]


def chat(
    text: str | None,
    finish: str = "stop",
    usage: tuple[int, int] | None = (10, 5),
    model: str = "served-model-7",
    **message,
) -> Response:
    """A chat completion as a server sends it."""
    body = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
    }
    if usage is not None:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return Response(json.dumps(body), content_type="application/json")


def error(status: int, message: str, headers=None, **fields) -> Response:
    """An error in the protocol's shape."""
    body = json.dumps({"error": {"type": "error", **fields, "message": message}})
    return Response(body, status, headers, content_type="application/json")


class FakeServer:
    """Answers from a script; keeps what was asked.

    script: replies, or functions of the request body, in order; the last one stays.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._http = HTTPServer(host="127.0.0.1", threaded=True)
        self._http.expect_request(CHAT).respond_with_handler(self._answer)
        self._http.start()
        self.base_url = self._http.url_for("/v1")
        self.reset()

    def reset(self) -> "FakeServer":
        """Forget script and requests; one server serves all tests of a module."""
        self.script = []
        self.bodies: list[dict] = []
        return self

    def stop(self) -> None:
        self._http.stop()

    def _answer(self, request: Request) -> Response:
        body = json.loads(request.get_data())
        with self._lock:
            at = min(len(self.bodies), len(self.script) - 1)
            self.bodies.append(body)
        step = self.script[at]
        return step(body) if callable(step) and not isinstance(step, Response) else step

    @property
    def calls(self) -> int:
        return len(self.bodies)


class FakeClock(Clock):
    """Does not wait; remembers how long it should have."""

    def __init__(self, epoch: float = 1_700_000_000.0):
        self.time = 0.0
        self.start = epoch
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def epoch(self) -> float:
        return self.start + self.time

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def client(server, folder=None, clock=None, base_url=None, settings=None, **more):
    """A client with the roles judge (one ask) and policy."""
    settings = settings or {}
    roles = {
        name: RoleSettings(**({"model": "m", "temperature": 0.5, "max_tokens": 50} | s))
        for name, s in {"judge": settings, "policy": settings}.items()
    }
    return LLMClient(
        roles,
        folder,
        base_url=base_url or server.base_url,
        api_key=KEY,
        clock=clock or FakeClock(),
        **more,
    )


@contextmanager
def resetting_server(times: int):
    """A server that resets the first connections, then answers properly."""
    listener = socket.create_server(("127.0.0.1", 0))
    reply = chat("hello").get_data()
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(reply)}\r\n\r\n"
    ).encode()

    def serve():
        for number in range(times + 1):
            connection, _ = listener.accept()
            connection.recv(65536)
            if number < times:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            else:
                connection.sendall(head + reply)
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.close()


@contextmanager
def trickling_server(every_s: float):
    """A server that sends a byte now and then and never an answer."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve():
        connection, _ = listener.accept()
        connection.recv(65536)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 100000\r\n\r\n")
        while not over.wait(every_s):
            try:
                connection.sendall(b"\n")
            except OSError:
                break
        connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        over.set()
        listener.close()


def ledger_of(llm) -> tuple[int, int, int]:
    """Attempts, prompt tokens and completion tokens in the ledger."""
    total = llm.ledger.totals()["all"]
    return total["attempts"], total["prompt_tokens"], total["completion_tokens"]
