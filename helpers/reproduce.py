"""Run the notebooks with papermill and close with the list of artifacts.

    python -m helpers.reproduce [--profile P] [--only 03,05] [--from 04] [--out DIR]

Everything given is checked before a kernel starts; at gpu and paper also machine,
endpoint and cost (`helpers.preflight`). Each notebook has a kernel of its own; they run
one after another and the first failure ends the run. Exit codes: 0 done, 1 a notebook
failed or an artifact is missing, 2 wrong use, 130 interrupted.
"""

import argparse
import sys
import time
from pathlib import Path

import pandas as pd
import yaml

from helpers import paid, profiles
from helpers.execution import execute
from helpers.parameters import Notebook, assign, find_notebooks, inspect
from helpers.paths import FIGURES, NOTEBOOKS, ROOT, RUNS
from helpers.progress import (
    Estimates,
    clock,
    end_line,
    live_line,
    print_artifacts,
    print_failure,
    print_list,
    shown,
)
from helpers.reporting.artifacts import load_artifacts
from helpers.reporting.index import report, write_index
from helpers.reporting.stamp import write_stamp
from helpers.serving import ServerFailed

PLANNED = (
    "00_start_here",
    "01_data_pipeline",
    "02_user_simulator",
    "03_empa_evaluation",
    "04_rlver_ppo",
    "05_mapo",
    "06_rapo_self_distillation",
    "07_ablations",
)


def main(
    argv: list[str] | None = None,
    notebooks_dir: Path = NOTEBOOKS,
    artifacts: pd.DataFrame | None = None,
) -> int:
    """The command line; returns the exit code. Tests hand in other notebooks."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = _parser().parse_args(argv)
    artifacts = load_artifacts() if artifacts is None else artifacts
    notebooks, values, problems = _prepare(arguments, Path(notebooks_dir))
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 2
    profile = profiles.get(arguments.profile)
    out_dir, runs_dir, timings_file = _folders(arguments)
    estimates = Estimates(profile, timings_file)
    if arguments.list:
        built = {path.stem for path in find_notebooks(notebooks_dir)}
        print_list(notebooks, estimates, [n for n in PLANNED if n not in built])
        return 0
    paid.name_served(arguments.serve, values)
    code = paid.check(arguments, values, runs_dir)
    if code is not None:
        return code
    try:
        with paid.at_hand(arguments, runs_dir):
            seconds, failure, output = _run(
                notebooks, values, arguments, profile, (out_dir, runs_dir), estimates
            )
    except ServerFailed as problem:
        end_line(str(problem))
        return 1
    except KeyboardInterrupt:
        return 130
    _stamp(out_dir, profile, {n: values[n] for n in seconds}, seconds, failure)
    rows = report(out_dir, list(seconds), notebooks_dir, artifacts)
    print_artifacts(rows, write_index(out_dir, rows))
    if failure is not None:
        notebook = next(n for n in notebooks if n.number == list(seconds)[-1])
        print_failure(failure, notebook, output, argv)
        return 1
    lacking = rows["notebook"].isin(list(seconds)) & (rows["status"] == "missing")
    return int(lacking.any())


def _run(notebooks, values, arguments, profile, folders, estimates):
    """The notebooks one after another, until the first failure.

    Returns:
        seconds by number, the failure or None, and the last executed copy.
    """
    out_dir, runs_dir = folders
    seconds, failure = {}, None
    for position, notebook in enumerate(notebooks, 1):
        label = f"[{position}/{len(notebooks)}] {notebook.name}"
        now, expected = time.strftime("%H:%M:%S"), estimates.text([notebook])
        print(f"{label}: started {now}; expect {expected}", flush=True)
        output = runs_dir / f"{notebook.name}.ipynb"
        # A manifest of an earlier run must not count for this one.
        (out_dir / "manifest" / f"{notebook.number}.json").unlink(missing_ok=True)
        started = time.monotonic()
        try:
            failure = execute(
                notebook,
                output,
                values[notebook.number],
                arguments.timeout or profile.cell_timeout_s,
                live_line(label, len(notebook.sources), started),
            )
        except KeyboardInterrupt:
            end_line(f"{label}: interrupted; kept {shown(output)}")
            raise
        seconds[notebook.number] = time.monotonic() - started
        if failure is not None:
            end_line(f"{label}: failed after {clock(seconds[notebook.number])}")
            break
        estimates.record(notebook, seconds[notebook.number])
        rest = notebooks[position:]
        left = f"; left {estimates.text(rest)}" if rest else ""
        end_line(f"{label}: done in {clock(seconds[notebook.number])}{left}")

    return seconds, failure, output


def _stamp(out_dir: Path, profile, values: dict, seconds: dict, failure) -> None:
    """Write stamp.json for the whole run; the dicts are by notebook number."""
    write_stamp(
        out_dir / "stamp.json",
        "all",
        values,
        {number: given["SEED"] for number, given in values.items()},
        profile=profile.name,
        seconds={number: round(value, 1) for number, value in seconds.items()},
        failed=None if failure is None else list(seconds)[-1],
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.reproduce",
        description=__doc__.partition("\n")[0],
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--profile", default="laptop", help="smoke, laptop (default), gpu or paper")
    add("--only", metavar="NN,NN", help="run these notebooks only")
    add("--from", dest="start", metavar="NN", help="begin with this notebook")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for artifacts and executed copies",
    )
    add("--list", action="store_true", help="show the notebooks and their parameters")
    add(
        "-p",
        dest="parameters",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter; 03:NAME=VALUE sets it in one notebook",
    )
    add("--params-file", type=Path, metavar="FILE.yaml", help="parameters by name")
    add("--timeout", type=float, metavar="SECONDS", help="limit for one cell")
    paid.options(parser)
    return parser


def _prepare(
    arguments, folder: Path
) -> tuple[list[Notebook], dict[str, dict], list[str]]:
    """Everything that can be wrong, found before anything is written."""
    problems = []
    try:
        profiles.get(arguments.profile)
    except ValueError as error:
        problems.append(str(error))
    if arguments.timeout is not None and not arguments.timeout > 0:
        problems.append(f"--timeout {arguments.timeout:g}: give seconds above 0")
    paths, selection_problems = _select(find_notebooks(folder), arguments)
    notebooks = []
    for path in paths:
        notebook, notebook_problems = inspect(path)
        notebooks += [] if notebook is None else [notebook]
        problems += notebook_problems
    given, given_problems = _given(arguments)
    values, value_problems = assign(given, notebooks)
    out_dir = _folders(arguments)[0]
    if out_dir.exists() and not out_dir.is_dir():
        problems.append(f"--out {arguments.out}: that is a file, not a folder")
    if out_dir.is_relative_to(ROOT):  # no folder of this machine in a notebook
        out_dir = out_dir.relative_to(ROOT)
    own = {"PROFILE": arguments.profile, "OUT_DIR": str(out_dir)}
    values = {n.number: n.defaults | values[n.number] | own for n in notebooks}
    problems += selection_problems + given_problems + value_problems
    return notebooks, values, problems


def _select(paths: list[Path], arguments) -> tuple[list[Path], list[str]]:
    """The notebooks that --only and --from leave, and one line for each problem."""
    numbers = [path.name[:2] for path in paths]
    known = ", ".join(numbers) or "none"
    twice = {n for n in numbers if numbers.count(n) > 1}
    problems = [f"Two notebooks have the number {n}: rename one" for n in sorted(twice)]
    asked = "" if arguments.only is None else arguments.only
    only = [n.strip().zfill(2) for n in asked.split(",") if n.strip()]
    start = arguments.start.zfill(2) if arguments.start else "00"
    for option, asked in (
        ("--only", only),
        ("--from", [start][: bool(arguments.start)]),
    ):
        for number in asked:
            if number not in numbers:
                planned = any(name.startswith(f"{number}_") for name in PLANNED)
                what = "is not built yet" if planned else "does not exist"
                problems.append(
                    f"{option} {number}: that notebook {what}; known: {known}"
                )
    if arguments.only is not None and not only:
        problems.append(f"--only {arguments.only!r} names no notebook; known: {known}")
    chosen = [
        p for p in paths if p.name[:2] >= start and (not only or p.name[:2] in only)
    ]
    if not chosen and not problems:
        problems.append(f"No notebook is left to run; known: {known}")
    return chosen, problems


def _given(arguments) -> tuple[list[tuple[str, object, bool]], list[str]]:
    """Parameters of the file, then of the command line, addressed ones after others."""
    given, problems = [], []
    if arguments.params_file is not None:
        try:
            content = yaml.safe_load(arguments.params_file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            return [], [f"{arguments.params_file}: cannot be read ({reason})"]
        if not isinstance(content, dict):
            return [], [f"{arguments.params_file}: lines of NAME: value are needed"]
        given += [(str(name), value, False) for name, value in content.items()]
        given.sort(key=lambda item: ":" in item[0])
    texts = []
    for text in arguments.parameters:
        name, equals, value = text.partition("=")
        if equals:
            texts.append((name.strip(), value, True))
        else:
            problems.append(f"-p {text}: write NAME=VALUE")
    given += sorted(texts, key=lambda item: ":" in item[0])
    return given, problems


def _folders(arguments) -> tuple[Path, Path, Path]:
    """Folders of artifacts and executed copies, and the file of timings."""
    out = arguments.out and arguments.out.resolve()
    if out is not None and out.parent != FIGURES:
        return out, out / "runs", out / "runs" / "timings.json"
    if out is not None:
        return out, RUNS / out.name, RUNS / out.name / "timings.json"
    profile = arguments.profile
    return FIGURES / profile, RUNS / profile, RUNS / "timings.json"


if __name__ == "__main__":
    sys.exit(main())
