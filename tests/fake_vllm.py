"""A stand-in for `vllm serve`: `put(folder)` makes an executable of that name.

The model's name says what happens: "good" answers after half a second, "slow" never
does, "dies" ends at once with last words, "other" serves another name. It has a child
of its own, whose process id it prints, and writes its own arguments first.
"""

import os
import stat
import sys
from pathlib import Path

SCRIPT = """#!{python}
import json, os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

words = sys.argv[1:]
model, port = words[1], int(words[words.index("--port") + 1])
print("arguments:", json.dumps(words), flush=True)
print("gpus:", os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child:", child.pid, flush=True)
if model == "dies":
    child.kill()
    sys.exit("ValueError: no kernel for this GPU")
print("loading", flush=True)
time.sleep(600 if model == "slow" else 0.5)
name = "another" if model == "other" else model


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def answer(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer({{"object": "list", "data": [{{"id": name, "object": "model"}}]}})


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def put(folder: Path, monkeypatch) -> Path:
    """Make it the `vllm` that is found first."""
    path = Path(folder) / "vllm"
    path.write_text(SCRIPT.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return path
