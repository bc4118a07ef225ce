"""One budget for a whole run: many clients, in many processes, count together.

The driver puts the limits into the environment (`--budget-usd`, `--budget-tokens`,
`--budget-calls`), where kernels and training processes find them. Each attempt of any
client is written to one file besides the client's own ledger, and each client reads
what the others have written before it asks again.
"""

import json
import os
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.agents.ledger import Budget, Ledger, Price, read_ledger
from helpers.environment import changed

FILE = "KIT_SPENT"
LIMITS = {  # by the field of Budget
    "max_usd": "KIT_BUDGET_USD",
    "max_tokens": "KIT_BUDGET_TOKENS",
    "max_attempts": "KIT_BUDGET_CALLS",
}


class RunLedger(Ledger):
    """A ledger that several processes append to. Totals and budget speak of all."""

    def __init__(self, path: Path, prices: dict[str, Price], budget: Budget):
        super().__init__(None, prices, budget)
        self._path, self._seen = Path(path), 0
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch()

    def append(self, row: dict[str, Any]) -> None:
        """Write the row of another ledger; a line goes in at one blow."""
        line = (json.dumps(row, ensure_ascii=False) + "\n").encode()
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(file, line) < len(line):
                raise OSError("the disk is full: the budget of the run cannot be kept")
        finally:
            os.close(file)

    def check_budget(self) -> None:
        self.catch_up()
        super().check_budget()

    def catch_up(self) -> None:
        """Count what was written since the last look."""
        with self._lock, open(self._path, "rb") as stream:
            stream.seek(self._seen)
            new = stream.read()
            whole = new[: new.rfind(b"\n") + 1]
            for line in whole.splitlines():
                self._add(json.loads(line))
            self._seen += len(whole)


def run_ledger(
    prices: dict[str, Price], environment: Mapping[str, str] = os.environ
) -> RunLedger | None:
    """The ledger of the run that this process belongs to; None without a budget."""
    if FILE not in environment:
        return None
    given = {field: environment.get(name) for field, name in LIMITS.items()}
    kinds = {"max_usd": float, "max_tokens": int, "max_attempts": int}
    limits = {field: kinds[field](text) for field, text in given.items() if text}
    return RunLedger(Path(environment[FILE]), prices, Budget(**limits))


@contextmanager
def in_environment(budget: Budget, path: Path):
    """Processes started inside keep this budget; without a limit nothing changes."""
    texts = {LIMITS[k]: str(v) for k, v in vars(budget).items() if v is not None}
    if not texts:
        yield
        return
    texts[FILE] = str(path)
    with changed({name: texts.get(name) for name in (FILE, *LIMITS.values())}):
        yield


def spent(path: Path, prices: dict[str, Price]) -> dict[str, Any]:
    """Totals of all that is in the file, as `Ledger.totals` gives them for "all"."""
    ledger = Ledger(None, prices)
    for row in read_ledger(path) if path.is_file() else []:
        ledger._add(row)
    return ledger.totals()["all"]
