"""One look a label of the race, the same in every figure: colour, marker, line."""

from helpers.reporting import figures as look
from helpers.reporting.mapo_figures import METHOD_LOOK

LOOKS = {
    **METHOD_LOOK,
    "supervised": (look.BLACK, "P"),
    "comparative_po": ("#B8860B", "p"),
    "RAPO": ("#6A3D9A", "D"),
    "MAPO + verbal": ("#8C510A", "X"),
}


def look_of(label: str) -> tuple[str, str, str]:
    """(colour, marker, line style); runs that think are dashed.

    Raises: ValueError for a label without a look.
    """
    name, _, mode = label.partition(", ")
    if name not in LOOKS:
        raise ValueError(f"{label!r} has no look; known: {', '.join(LOOKS)}")
    return (*LOOKS[name], "--" if mode else "-")
