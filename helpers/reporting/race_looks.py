"""One look a label of the race: colour, marker, line style, the same in every figure."""

from helpers.reporting import figures as look

LOOKS = {
    "base": (look.GREY, "X"), "supervised": (look.BLACK, "P"), "GRPO": (look.SKY, "o"),
    "PPO": (look.ORANGE, "^"), "turn-only": (look.PINK, "v"),
    "batch-only": (look.YELLOW, "<"), "MAPO": (look.GREEN, "D"),
    "comparative_po": (look.BLUE, "h"), "RAPO": (look.RED, "s"),
    "MAPO + verbal": ("#6A3D9A", "*"),
}  # fmt: skip


def look_of(label: str) -> tuple[str, str, str]:
    """(colour, marker, line style); runs that think are dashed.

    Raises: ValueError for a label without a look.
    """
    name, _, mode = label.partition(", ")
    if name not in LOOKS:
        raise ValueError(f"{label!r} has no look; known: {', '.join(LOOKS)}")
    return (*LOOKS[name], "--" if mode else "-")
