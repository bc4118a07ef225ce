"""The machine at hand, by probe: GPUs, number format, memory, disk, vLLM.

Tests hand in machines that are not there.
"""

import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

GB = 1e9


@dataclass(frozen=True)
class Gpu:
    """name: as the driver says. total, free: bytes."""

    name: str
    total: float
    free: float


@dataclass(frozen=True)
class Machine:
    """What a run can use.

    gpus: those that CUDA shows. bf16: they compute in it. memory, disk: free bytes of
    main memory and of the disk of runs/; memory None where the system does not say.
    vllm: installed. why: what torch says where it has no GPU.
    """

    gpus: tuple[Gpu, ...]
    bf16: bool
    memory: float | None
    disk: float
    vllm: bool
    cores: int
    why: str = ""

    @property
    def number_format(self) -> str:
        """What training computes in (`helpers.learning.devices`)."""
        if not self.gpus:
            return "float32 (CPU)"
        return "bf16 autocast" if self.bf16 else "float32 (no bf16 on this GPU)"

    def lines(self) -> list[str]:
        """As a person reads it."""
        named = [
            f"{g.name}, {g.free / GB:.0f} of {g.total / GB:.0f} GB free"
            for g in self.gpus
        ]
        memory = "unknown" if self.memory is None else f"{self.memory / GB:.0f} GB"
        vllm = "installed" if self.vllm else "not installed"
        return [
            f"GPUs: {'; '.join(named) or f'none ({self.why})'}",
            f"computes in: {self.number_format}",
            f"memory free: {memory}; disk free: {self.disk / GB:.0f} GB; "
            f"cores: {self.cores}; vLLM: {vllm}",
        ]


def probe(folder: Path) -> Machine:
    """The machine as it is now. folder: on the disk that a run writes to."""
    import torch  # seconds; only a run with models needs it

    gpus, bf16, why = [], False, "torch finds no CUDA device"
    if not torch.backends.cuda.is_built():
        why = "this torch is built without CUDA"
    elif torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(number)
            gpus.append(Gpu(torch.cuda.get_device_name(number), total, free))
        bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    while not folder.exists():
        folder = folder.parent
    return Machine(
        tuple(gpus), bf16, _free_memory(), float(shutil.disk_usage(folder).free),
        find_spec("vllm") is not None, os.cpu_count() or 1, why,
    )  # fmt: skip


def _free_memory() -> float | None:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError):  # not on this system
        return None
