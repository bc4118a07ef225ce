"""Where the seconds of a training step go."""

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager

import torch


class Clock:
    """Seconds by phase. Phases nest; each second counts for the innermost one."""

    def __init__(self, cuda: bool):
        self.cuda = cuda
        self.stack, self.spent, self.mark = ["own"], defaultdict(float), 0.0
        self.lap()

    def _tick(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()  # kernels that are still running belong here
        now = time.perf_counter()
        self.spent[self.stack[-1]] += now - self.mark
        self.mark = now

    def push(self, phase: str) -> None:
        self._tick()
        self.stack.append(phase)

    def pop(self) -> None:
        self._tick()
        self.stack.pop()

    @contextmanager
    def __call__(self, phase: str):
        self.push(phase)
        try:
            yield
        finally:
            self.pop()

    def timed(self, phase: str, function: Callable) -> Callable:
        def run(*args, **kwargs):
            with self(phase):
                return function(*args, **kwargs)

        return run

    def lap(self) -> dict[str, float]:
        """Seconds of each phase, and of all as "step", since the last lap."""
        self._tick()
        spent, self.spent = self.spent, defaultdict(float)
        return {**spent, "step": sum(spent.values())}
