"""What the calls cost: an append-only ledger, prices, and the budget.

One JSON line per attempt that reached, or may have reached, a model: retries and cut
replies too. A server that gives no usage, and an attempt that timed out, have unknown
tokens (null); a model without a price has the cost "unknown". Neither is ever 0.
"""

import csv
import json
import os
import threading
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helpers.agents.roles import RunStopped

SCHEMA = 1
PER_MILLION = 1_000_000


class BudgetStop(RunStopped):
    """The budget is spent: no further call is made. Finished work is in the cache."""


@dataclass(frozen=True)
class Budget:
    """Limits over everything in the ledger file, earlier runs included.

    Calls in flight when the limit is reached still finish, so the overshoot is at most
    the calls that run at the same time.
    """

    max_usd: float | None = None
    max_tokens: int | None = None
    max_attempts: int | None = None


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input_usd: float
    output_usd: float


def load_prices(path: Path) -> dict[str, Price]:
    """Read the price file: model, input_usd, output_usd, date, source.

    Raises:
        ValueError: names the file, the line and the field.
    """
    prices = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            try:
                price = Price(float(row["input_usd"]), float(row["output_usd"]))
                prices[row["model"]] = price
            except (KeyError, TypeError, ValueError) as problem:
                raise ValueError(
                    f"{path.name}, row of {row.get('model')!r}: {problem}; a price is "
                    "US dollars per million tokens; leave out a row you do not know"
                ) from None
    return prices


class Ledger:
    """Append-only JSON Lines, safe across threads; a torn last line is ignored.

    Args:
        path: the file; earlier lines count towards the totals and the budget. None
            keeps the totals in memory only.
        prices: see :func:`load_prices`.
        budget: None for no limit.
    """

    def __init__(
        self, path: Path | None, prices: dict[str, Price], budget: Budget | None = None
    ):
        self._lock = threading.Lock()
        self._prices = prices
        self._budget = budget or Budget()
        self._totals: dict[str, dict[str, float]] = defaultdict(_empty_total)
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            for row in read_ledger(path) if path.exists() else []:
                self._add(row)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._file = os.open(path, flags, 0o644)
            _end_torn_line(self._file)

    def check_model(self, model: str) -> None:
        """Raise ValueError when a budget in dollars cannot be kept for this model."""
        if self._budget.max_usd is not None and model not in self._prices:
            raise ValueError(
                f"a budget in USD needs a price for {model!r}: add it to "
                "data/prices.csv, or give the budget in tokens or attempts"
            )

    def check_budget(self) -> None:
        """Raise BudgetStop when nothing more may be spent."""
        with self._lock:
            total = self._sum()
        limit = self._budget
        spent = {
            "USD": (total["usd"], limit.max_usd),
            "tokens": (total["prompt"] + total["completion"], limit.max_tokens),
            "attempts": (total["attempts"], limit.max_attempts),
        }
        for unit, (used, most) in spent.items():
            if most is not None and used >= most:
                raise BudgetStop(
                    f"budget spent: {used:g} of {most:g} {unit}; raise the budget and "
                    "run again, finished work is kept"
                )
        in_tokens = limit.max_usd is not None or limit.max_tokens is not None
        if in_tokens and total["no_usage"]:
            raise BudgetStop(
                "the server reports no token usage, so a budget in tokens or USD "
                "cannot be kept: give it in attempts"
            )

    def record(
        self,
        *,
        role: str,
        model: str,
        base_url: str,
        status: str,
        attempt: int,
        request: str,
        seconds: float,
        billed: bool | None,
        usage: tuple[int | None, int | None] | None,
        served: str | None = None,
    ) -> dict[str, Any]:
        """Append one attempt; returns its row.

        Args:
            status: of the attempt ("ok", "truncated", "http_500", "timeout"...).
            attempt: 1 for the first try of this call.
            request: the cache key, so that attempts of one call can be joined.
            billed: True, False, or None when it cannot be known (time-out).
            usage: (prompt tokens, completion tokens), None where unknown.
            served: the model that the server names, None if it does not say.
        """
        prompt, completion = usage or (None, None)
        usd = 0.0 if billed is False else self._cost(model, prompt, completion)
        row = {
            "schema": SCHEMA,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "role": role,
            "model": model,
            "served": served,
            "base_url": base_url,
            "request": request[:16],
            "attempt": attempt,
            "status": status,
            "billed": billed,
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "usd": usd,
            "seconds": round(seconds, 3),
        }
        line = (json.dumps(row, ensure_ascii=False) + "\n").encode()
        with self._lock:
            self._add(row)
            if self._file is not None:
                written = os.write(self._file, line)
                if written < len(line):
                    raise OSError(
                        "the disk is full: the last line of the ledger is cut"
                    )
        return row

    def totals(self) -> dict[str, dict[str, Any]]:
        """Per role and "all": attempts, retries, tokens, USD, unknowns.

        ``usd`` is "unknown" as soon as one billed attempt has no known cost;
        ``usd_known`` is the part that is known.
        """
        with self._lock:
            per_role = {role: dict(total) for role, total in self._totals.items()}
            per_role["all"] = self._sum()
        return {role: _readable(total) for role, total in per_role.items()}

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _cost(self, model: str, prompt: int | None, completion: int | None):
        price = self._prices.get(model)
        if price is None or prompt is None or completion is None:
            return "unknown"
        usd = prompt * price.input_usd + completion * price.output_usd
        return usd / PER_MILLION

    def _add(self, row: dict[str, Any]) -> None:
        total = self._totals[row["role"]]
        total["attempts"] += 1
        total["retries"] += row["attempt"] > 1
        total["prompt"] += row["prompt_tokens"] or 0
        total["completion"] += row["completion_tokens"] or 0
        if row["billed"] is not False:
            unknown = row["usd"] == "unknown"
            total["usd"] += 0.0 if unknown else row["usd"]
            total["usd_unknown"] += unknown
            no_tokens = row["prompt_tokens"] is None or row["completion_tokens"] is None
            total["tokens_unknown"] += no_tokens
            total["no_usage"] += no_tokens and row["billed"] is True

    def _sum(self) -> dict[str, float]:
        summed = _empty_total()
        for total in self._totals.values():
            for name, value in total.items():
                summed[name] += value
        return summed


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """Rows of a ledger file; a torn last line (killed while writing) is left out.

    Raises:
        ValueError: a broken line that is not the last one, or an unknown schema.
    """
    rows = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError):
            if _is_torn(lines, number):
                continue
            raise ValueError(
                f"{path.name}, line {number}: not JSON; remove the line"
            ) from None
        if row.get("schema") != SCHEMA:
            raise ValueError(
                f"{path.name}, line {number}: schema {row.get('schema')!r}, this kit "
                f"reads {SCHEMA}; use the version of the kit that wrote it"
            )
        rows.append(row)
    return rows


def _is_torn(lines: list[bytes], number: int) -> bool:
    """A line without an end is torn; later appends close it with an empty mark line."""
    return number == len(lines) or lines[number : number + 1] == [b""]


def _end_torn_line(file: int) -> None:
    """Close a torn last line, so that the next row does not join it."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n\n")


def _empty_total() -> dict[str, float]:
    names = "attempts retries prompt completion usd usd_unknown tokens_unknown no_usage"
    return dict.fromkeys(names.split(), 0)


def _readable(total: dict[str, float]) -> dict[str, Any]:
    unknown = total["usd_unknown"]
    return {
        "attempts": total["attempts"],
        "retries": total["retries"],
        "prompt_tokens": total["prompt"],
        "completion_tokens": total["completion"],
        "attempts_with_unknown_tokens": total["tokens_unknown"],
        "usd": "unknown" if unknown else total["usd"],
        "usd_known": total["usd"],
    }
