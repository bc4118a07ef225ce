"""The parameters cell of a notebook, and the check of values given for it.

papermill only warns of an unknown name and never looks at types. Here both stop a run
before a kernel starts: the default in the cell fixes the name and the type.
"""

import ast
import io
import json
import tokenize
from dataclasses import dataclass
from pathlib import Path

from helpers.profiles import suggestion

REQUIRED = ("PROFILE", "SEED", "OUT_DIR")
SET_BY = {"PROFILE": "--profile", "OUT_DIR": "--out"}
# What a file that is no notebook raises. It is read without nbformat: importing that
# would take each kernel two seconds.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
TYPES = (bool, int, float, str, list)


@dataclass(frozen=True)
class Notebook:
    """What the driver needs to know of a notebook file.

    Fields:
        path: the file; its name is NN_topic.ipynb.
        title: first line of its first cell, without the heading mark.
        defaults: value by parameter name, in the order of the cell.
        comments: trailing comment by parameter name.
        parameters_at: index of the parameters cell, from 0.
        sources: text of each cell.
    """

    path: Path
    title: str
    defaults: dict[str, object]
    comments: dict[str, str]
    parameters_at: int
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def number(self) -> str:
        return self.path.stem[:2]


def find_notebooks(folder: Path) -> list[Path]:
    """The numbered notebooks NN_topic.ipynb of a folder, in order."""
    return sorted(Path(folder).glob("[0-9][0-9]_*.ipynb"))


def inspect(path: Path) -> tuple[Notebook | None, list[str]]:
    """Read a notebook and its parameters cell.

    Returns:
        The notebook and no problems, or None and one line for each problem.
    """
    try:
        cells = [
            (cell["cell_type"], "".join(cell["source"]),
             cell["metadata"].get("tags", []))
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        ]  # fmt: skip
    except UNREADABLE as error:
        first_line = (str(error) or type(error).__name__).splitlines()[0][:100]
        return None, [f"{path.name}: not a readable notebook ({first_line})"]
    if any("injected-parameters" in tags for _, _, tags in cells):
        return None, [f"{path.name}: an executed copy; take the notebook itself"]
    tagged = [i for i, (_, _, tags) in enumerate(cells) if "parameters" in tags]
    if len(tagged) != 1 or cells[tagged[0]][0] != "code":
        return None, [
            f"{path.name}: {len(tagged)} cells tagged 'parameters'; "
            "it needs exactly one, a code cell"
        ]
    source = cells[tagged[0]][1]
    defaults, problems = _defaults(source)
    problems += [f"{name} is missing" for name in REQUIRED if name not in defaults]
    if problems:
        where = f"{path.name}, cell {tagged[0] + 1} (parameters)"
        return None, [f"{where}: {problem}" for problem in problems]
    title = cells[0][1].strip().partition("\n")[0].lstrip("# ")
    sources = tuple(source for _, source, _ in cells)
    comments = _comments(source)
    return Notebook(path, title, defaults, comments, tagged[0], sources), []


def _defaults(source: str) -> tuple[dict[str, object], list[str]]:
    """Literal assignments of a cell, and one line for everything else in it."""
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        return {}, [f"line {error.lineno}: {error.msg}"]
    defaults, problems = {}, []
    for statement in statements:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        try:
            if not isinstance(statement, ast.Assign | ast.AnnAssign):
                raise ValueError
            (name,) = [target.id for target in targets]
            value = ast.literal_eval(statement.value)
        except (ValueError, TypeError, AttributeError):
            problems.append(f"line {statement.lineno}: not NAME = literal")
            continue
        if type(value) not in TYPES:
            kinds = ", ".join(kind.__name__ for kind in TYPES)
            problems.append(f"{name} is {value!r}: a default is one of {kinds}")
        if name in defaults:
            problems.append(f"{name} is set twice")
        defaults[name] = value
    return defaults, problems


def _comments(source: str) -> dict[str, str]:
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            name = token.line.partition("=")[0].partition(":")[0].strip()
            comments[name] = token.string.lstrip("# ")
    return comments


def typed(value, default):
    """The value with the type of the default; an int is a float where one is due.

    Raises:
        ValueError: the type differs (a bool is no int), or an element's type does.
    """
    if type(default) is float and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        advice = ""
        if type(default) is float and isinstance(value, str) and _is_float(value):
            advice = "; YAML reads 1e-5 as text: write 1.0e-5"
        raise ValueError(
            f"{value!r} is {_kind(value)}, the notebook has {_kind(default)} "
            f"({default!r}){advice}"
        )
    if type(default) is list and default:
        return [typed(item, default[0]) for item in value]
    return value


def from_text(text: str, default):
    """A command-line text read as the type of the default; else ValueError."""
    try:
        if type(default) is bool:
            return {"true": True, "false": False}[text.lower()]
        if type(default) is list:
            return typed(ast.literal_eval(text), default)
        return type(default)(text)
    except (KeyError, TypeError, ValueError, SyntaxError):
        raise ValueError(
            f"{text!r} is not {_kind(default)}, as the notebook has ({default!r})"
        ) from None


def assign(
    given: list[tuple[str, object, bool]], notebooks: list[Notebook]
) -> tuple[dict[str, dict], list[str]]:
    """Give each notebook its values; a later value replaces an earlier one.

    Args:
        given: (name, value, is it command-line text). "03:NAME" addresses one notebook.

    Returns:
        Typed values by notebook number, and one line for each problem.
    """
    values = {notebook.number: {} for notebook in notebooks}
    problems = []
    for full_name, value, is_text in given:
        number, _, name = full_name.rpartition(":")
        targets = [n for n in notebooks if number in ("", n.number)]
        if name in SET_BY:
            problems.append(f"{name} is set with {SET_BY[name]}")
        elif not targets:
            chosen = ", ".join(values)
            problems.append(
                f"{full_name}: {number} is not among those to run: {chosen}"
            )
        else:
            for notebook in targets:
                if name not in notebook.defaults:
                    problems.append(unknown(name, notebook))
                    continue
                read = from_text if is_text else typed
                try:
                    values[notebook.number][name] = read(value, notebook.defaults[name])
                except ValueError as error:
                    problems.append(f"{notebook.name}, {name}: {error}")
    return values, problems


def unknown(name: str, notebook: Notebook) -> str:
    """One line that says that a notebook has no such parameter."""
    known = ", ".join(notebook.defaults)
    return (
        f"{notebook.name} has no parameter {name}"
        f"{suggestion(name, notebook.defaults)}: it has {known}"
    )


def _kind(value) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    names |= {str: "a text", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
