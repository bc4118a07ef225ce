"""The one Setup call of a notebook: check, seed, stamp, and hand over what it needs."""

import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

from helpers import profiles
from helpers.parameters import inspect, typed, unknown
from helpers.paths import FIGURES, NOTEBOOKS, ROOT, RUNS
from helpers.reporting.artifacts import Register
from helpers.reporting.stamp import write_stamp


@dataclass(frozen=True)
class Run:
    """What a notebook works with.

    Fields:
        profile: the position of the dial.
        settings: the notebook's frozen settings at that profile.
        register: the writer of its artifacts.
        rng: NumPy generator, seeded with SEED.
        out_dir: absolute folder of the artifacts.
        run_dir: absolute folder of what a run stores besides: dialogues, caches.
    """

    profile: profiles.Profile
    settings: object
    register: Register
    rng: np.random.Generator
    out_dir: Path
    run_dir: Path


def start(notebook: str, notebooks_dir: Path = NOTEBOOKS, **parameters) -> Run:
    """Check the parameters, seed everything, stamp the run and open its register.

    Args:
        notebook: file name without its suffix, as "03_empa_evaluation".
        parameters: every name of the parameters cell with its value. An empty OUT_DIR
            is figures/<profile>; a relative one is taken from the project root.

    Raises:
        ValueError: a name or type differs from the parameters cell of the notebook
            file, or a value is not allowed. All problems stand in one message.
    """
    found, problems = inspect(Path(notebooks_dir) / f"{notebook}.ipynb")
    if found is not None:
        for name, value in parameters.items():
            if name not in found.defaults:
                problems.append(unknown(name, found))
                continue
            try:
                parameters[name] = typed(value, found.defaults[name])
            except ValueError as error:
                problems.append(f"{name}: {error}")
        missing = [name for name in found.defaults if name not in parameters]
        if missing:
            problems.append(f"start() was not given {', '.join(missing)}")
    if not problems and not 0 <= parameters["SEED"] < 2**32:
        problems.append(f"SEED: {parameters['SEED']} is not within 0 and 2**32 - 1")
    if problems:
        raise ValueError(f"{notebook}: " + "; ".join(problems))

    profile = profiles.get(parameters["PROFILE"])
    settings = profiles.settings(notebook, profile.name)
    out_dir = FIGURES / profile.name
    if parameters["OUT_DIR"]:
        out_dir = (ROOT / parameters["OUT_DIR"]).resolve()  # absolute paths stay
    # Runs are named by their settings, so all folders of figures share them.
    beside = out_dir.parent == FIGURES
    run_dir = RUNS / profile.name if beside else out_dir / "runs"
    if profile.launch:
        os.environ.setdefault("KIT_LAUNCH", profile.launch)
    seed = parameters["SEED"]
    _seed(seed)
    _quiet_backend()
    matplotlib.rcParams["savefig.dpi"] = settings.figure_dpi
    backend = profiles.backend(notebook, profile.name)
    register = Register(notebook, out_dir, profile.name, seed, backend)
    stamp_file = out_dir / "stamp" / f"{notebook[:2]}.json"
    write_stamp(stamp_file, notebook, parameters, seed)
    rng = np.random.default_rng(seed)
    return Run(profile, settings, register, rng, out_dir, run_dir)


def _seed(seed: int) -> None:
    """Seed the global generators; torch only where the notebook imported it."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _quiet_backend() -> None:
    """Keep inline and file backends; never open a window or fail without a display."""
    backend = matplotlib.get_backend(auto_select=False)
    if backend is None or not ("inline" in backend or backend.lower() == "agg"):
        matplotlib.use("agg")
