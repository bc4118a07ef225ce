"""Run one notebook in its own kernel, and say where and why it stopped."""

import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from helpers.environment import changed
from helpers.files import write_atomically
from helpers.parameters import Notebook
from helpers.paths import ROOT

START_TIMEOUT_S = 180
TAIL_LINES = 12
# Colours and other control characters of an output never reach the terminal.
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")

DEFAULTS = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}


@dataclass(frozen=True)
class Failure:
    """Why a notebook stopped.

    Fields:
        cell: number of the cell in the file, from 1; None before the first cell.
        first_line: its first source line.
        error: name and message in one line.
        tail: last lines of its output.
    """

    cell: int | None
    first_line: str
    error: str
    tail: tuple[str, ...]


class WatchedEngine(NBClientEngine):
    """papermill's engine; it also tells `watch` which cell starts."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, *, watch, **options):
        start = nb_man.cell_start

        def cell_start(cell, cell_index=None, **more):
            watch(cell_index, cell)
            start(cell, cell_index, **more)

        nb_man.cell_start = cell_start
        super().execute_managed_notebook(nb_man, kernel_name, **options)


papermill_engines.register("watched", WatchedEngine)
logging.getLogger("papermill").setLevel(logging.CRITICAL)  # a Failure says it better


def execute(
    notebook: Notebook, output: Path, parameters: dict, timeout_s: float, on_cell=None
) -> Failure | None:
    """Run a notebook top to bottom and keep the executed copy, also when it fails.

    Args:
        output: where the executed copy goes; written after every cell.
        timeout_s: limit for one cell, seconds.
        on_cell: called with the number of the cell that starts, from 1.

    Returns:
        None when every cell ran, else the failure. KeyboardInterrupt passes through.
    """
    seen = {}  # cells by index in the executed copy
    output.parent.mkdir(parents=True, exist_ok=True)

    def number(index: int) -> int:
        # The copy holds one cell more: the injected values, after the parameters.
        return index + 1 if index <= notebook.parameters_at else index

    def watch(index, cell):
        seen[index] = cell
        if on_cell is not None:
            on_cell(number(index))

    def failure(error: str, index: int | None = None) -> Failure:
        error = " ".join(_printable(error).split())
        index = max(seen, default=None) if index is None else index
        if index is None:
            return Failure(None, "", error, ())
        source = notebook.sources[number(index) - 1].strip()
        return Failure(
            number(index), source.partition("\n")[0], error, _tail(seen[index])
        )

    try:
        with _kernel_environment():
            node = papermill.execute_notebook(
                _verbatim(notebook.path),
                _verbatim(output),
                parameters,
                engine_name="watched",
                kernel_name="python3",
                language="python",
                progress_bar=False,
                log_output=False,
                start_timeout=START_TIMEOUT_S,
                execution_timeout=timeout_s,
                iopub_timeout=60,  # 4 s by default: too short on a busy machine
                cwd=notebook.path.parent,
                extra_arguments=["--log-level=CRITICAL"],
                watch=watch,
            )
    except PapermillExecutionError as error:
        return failure(f"{error.ename}: {error.evalue}", error.cell_index)
    except CellTimeoutError:
        return failure(f"the cell did not end within its limit of {timeout_s:g} s")
    except DeadKernelError:
        return failure("the kernel died (killed, out of memory, or the cell ended it)")
    except (RuntimeError, OSError, KeyError) as error:  # no kernel, no space
        return failure(f"{type(error).__name__}: {error}")
    finally:
        if output.is_file():
            text = output.read_text(encoding="utf-8")
            write_atomically(output, _without_own_paths(text))
    if node.metadata.papermill.exception:  # sys.exit(0) is no error to papermill
        return failure("the cell ended the notebook early (SystemExit)")
    return None


def _kernel_environment():
    """Environment of the kernels: offline, quiet, this Python, these helpers."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    # A user-level kernel named python3 may start another Python.
    own = {"JUPYTER_PREFER_ENV_PATH": "1", "JUPYTER_PATH": None}
    own["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    missing = {k: v for k, v in DEFAULTS.items() if k not in os.environ}
    return changed(missing | own)


def _verbatim(path: Path) -> str:
    """A path in which papermill finds no {placeholders}."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _tail(cell) -> tuple[str, ...]:
    text = ""
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            text += output.text
        elif output.output_type == "error":
            text += "\n".join(output.traceback)
    return tuple(_printable(text).rstrip().splitlines()[-TAIL_LINES:])


def _printable(text: str) -> str:
    return CONTROL.sub("", _without_own_paths(text))


def _without_own_paths(text: str) -> str:
    """Take the project's and the home folder out of a text."""
    text = text.replace(f"{ROOT}{os.sep}", "")
    try:
        home = Path.home()
    except RuntimeError:  # no home folder: nothing to hide
        return text
    if home == Path(home.anchor):  # "/" would match in every path and every "//"
        return text
    return text.replace(f"{home}{os.sep}", "~/")
