"""One look a label: colour, marker, line style, the same in every figure."""

from helpers.reporting import figures as look
from helpers.reporting.learning_tables import variant
from helpers.reporting.rlver_drawn import RUN_LOOK

LOOKS = {**RUN_LOOK, "base no-think": (look.GREY, "X"), "base think": (look.BLACK, "P")}


def look_of(label: str) -> tuple[str, str, str]:
    """(colour, marker, line style) of a label; runs trained with the challenging user
    are dashed.

    Raises:
        ValueError: a method without a look.
    """
    name = variant(label)
    if name not in LOOKS:
        raise ValueError(f"{label!r} has no look; known: {', '.join(LOOKS)}")
    return (*LOOKS[name], "--" if "challenging" in label else "-")
