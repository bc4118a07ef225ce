"""The one dial of the kit: four profiles, and for each notebook its settings.

A profile says who plays the roles and how long a run may take. The settings of a
notebook are a frozen dataclass; each field names the paper's value, where it is stated
and why the kit's value differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

import pandas as pd

from helpers.race_settings import RACE
from helpers.training_settings import MAPO, RAPO
from helpers.training_settings import setting as _setting


@dataclass(frozen=True)
class Profile:
    """One position of the dial.

    Fields:
        name: smoke, laptop, gpu or paper.
        purpose: one line for a reader who chooses.
        backend: "scripted" (deterministic roles, no model) or "llm" (an endpoint).
        cell_timeout_s: seconds that one notebook cell may take.
        usual: about how many seconds each notebook, by its number, takes on two idle
            cores; empty while nobody has measured them.
        launch: how training runs on GPUs are started, unless KIT_LAUNCH says otherwise
            (`helpers.learning.processes`); empty: one process.
    """

    name: str
    purpose: str
    backend: str
    cell_timeout_s: int
    usual: Mapping[str, int]
    launch: str = ""


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "smoke", "every cell and check, on the least data", "scripted", 300,
            {"00": 5, "01": 18, "02": 17, "03": 33, "04": 40, "05": 30, "06": 31,
             "07": 35},
        ),
        Profile(
            "laptop", "real curves on two cores, no key", "scripted", 3600,
            {"00": 5, "01": 18, "02": 40, "03": 35, "04": 611, "05": 800, "06": 581,
             "07": 650},
        ),
        Profile("gpu", "one GPU, models behind an endpoint", "llm", 48 * 3600, {}),
        Profile(
            "paper",
            "the papers' models and sizes",
            "llm",
            72 * 3600,
            {},
            "configs/accelerate/ddp_one_node.yaml",
        ),
    )
}  # fmt: skip


def suggestion(name: str, known) -> str:
    """' (did you mean X?)' for the closest known name, or nothing."""
    closest = get_close_matches(str(name), [str(k) for k in known], n=1)
    return f" (did you mean {closest[0]}?)" if closest else ""


def get(name: str) -> Profile:
    """The profile of that name; an unknown name raises ValueError."""
    if name not in PROFILES:
        raise ValueError(
            f"Unknown profile {name!r}{suggestion(name, PROFILES)}: "
            f"choose one of {', '.join(PROFILES)}"
        )
    return PROFILES[name]


@dataclass(frozen=True)
class EmpaEvaluation:
    """Settings of notebook 03, which reads the released judge levels."""

    bootstrap_draws: int = _setting(
        "not stated",
        "EMPA Table 5 prints bootstrap intervals without the number of draws",
        "10000 keeps the ends of an interval steady; fewer draws save time",
    )
    interval: float = _setting("0.95", "EMPA Table 5: 95 % CI", "as in the paper")
    figure_dpi: int = _setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


@dataclass(frozen=True)
class StartHere:
    """Settings of notebook 00: one dialogue, the same at every profile."""

    figure_dpi: int = _setting(
        "-", "no number of a paper depends on it", "size of the picture"
    )


@dataclass(frozen=True)
class UserSimulator:
    """Settings of notebook 02: released emotion records and scripted users."""

    bootstrap_draws: int = _setting(
        "not stated",
        "SAGE and RLVER print no interval",
        "10000 keeps the ends of an interval steady; fewer draws save time",
    )
    interval: float = _setting("-", "SAGE prints no interval", "95 % as in EMPA")
    calibration_cards: int = _setting(
        "100",
        "SAGE: 100 test profiles, each met by every model",
        "the kit has 100 test cards; fewer save time",
    )
    audit_cards: int = _setting(
        "-", "the audit is the kit's own", "all test cards; fewer save time"
    )
    search_cards: int = _setting(
        "-",
        "the audit is the kit's own",
        "dev cards on which the best constant reply is searched",
    )
    llm_cards: int = _setting(
        "100", "SAGE: 100 test profiles", "a look at the roles, not a benchmark"
    )
    user_model: str = _setting(
        "DeepSeek-V3 (2024-12-27)",
        "SAGE section 3; EMPA: Gemini 2.5 Pro",
        "a name that the reader's server knows; empty: scripted roles only",
    )
    policy_model: str = _setting(
        "18 models", "SAGE Table 3", "a name that the reader's server knows"
    )
    figure_dpi: int = _setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


@dataclass(frozen=True)
class DataPipeline:
    """Settings of notebook 01: Real-to-Sim on the kit's own raw dialogues."""

    test_size: int = _setting(
        "30 of 1,010",
        "EMPA 4.1 and Fig. 6",
        "the kit has some forty cards: half of what the paper takes",
    )
    expand: int = _setting(
        "not stated",
        "EMPA 3.2 names prompt-driven expansion, without numbers",
        "cards asked for empty cells; needs a model, so 0 offline",
    )
    esconv_dialogues: int = _setting(
        "-",
        "the paper's corpus was not released",
        "an open corpus as second input; needs a network, so 0 offline",
    )
    bootstrap_draws: int = _setting(
        "not stated",
        "EMPA 3.2 prints 91 % (N = 200) without an interval",
        "dialogues are resampled; fewer draws save time",
    )
    interval: float = _setting("-", "no interval in EMPA 3.2", "as in the other tables")
    figure_dpi: int = _setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


@dataclass(frozen=True)
class Rlver:
    """Settings of notebook 04: training with a user's emotion as reward."""

    steps: int = _setting(
        "about 350 (PPO), 210 (GRPO)",
        "RLVER Fig. 4",
        "what fits the time; every run of a profile has the same number",
    )
    dialogues: int = _setting(
        "32", "RLVER App. B.3", "as in the paper; the same number for every method"
    )
    group: int = _setting(
        "GRPO 4, PPO 1", "RLVER App. B.3", "GRPO only; PPO has 1 as in the paper"
    )
    reply_limit: int = _setting(
        "5,000 tokens", "released script", "the tiny grammar needs some 25"
    )
    seeds: int = _setting(
        "1 (not stated)", "RLVER prints one run each", "spread needs several"
    )
    check_every: int = _setting(
        "not stated", "RLVER Fig. 4 has a point every 30 to 50 steps", "as many points"
    )
    curve_cards: int = _setting("30", "RLVER Fig. 4 caption", "as in the paper")
    final_cards: int = _setting(
        "100",
        "SAGE, RLVER Table 1",
        "the kit's own test cards; the papers' are Chinese",
    )
    policy: str = _setting(
        "Qwen2.5-7B-Instruct", "RLVER App. B.3", "offline: a tiny policy from scratch"
    )
    lora: int = _setting(
        "none", "RLVER trains all weights", "rank; memory: PPO holds two models a GPU"
    )
    user_model: str = _setting(
        "DeepSeek-V3", "RLVER App. B.3", "empty: the scripted users"
    )
    device: str = _setting("GPUs, type not found", "RLVER", "cpu or cuda")
    rate: float = _setting(
        "1e-6", "RLVER App. B.3", "0: as tuned for the tiny policy (data/tuning)"
    )
    entropy: float = _setting(
        "0.001 (code)", "released script", "with rate 0: as tuned (data/tuning)"
    )
    bootstrap_draws: int = _setting(
        "not stated", "RLVER prints no interval", "fewer draws save time"
    )
    interval: float = _setting("-", "no interval in RLVER", "as in the other tables")
    figure_dpi: int = _setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


_RLVER = Rlver(
    steps=16, dialogues=32, group=4, reply_limit=40, seeds=3, check_every=4,
    curve_cards=30, final_cards=100, policy="tiny", lora=0, user_model="",
    device="cpu", rate=0.0, entropy=0.0, bootstrap_draws=2000,
    interval=0.95, figure_dpi=150,
)  # fmt: skip
_RLVER_GPU = replace(
    _RLVER, steps=100, reply_limit=512, seeds=1, check_every=10,
    policy="Qwen/Qwen2.5-1.5B-Instruct", lora=16,
    user_model="deepseek-chat", device="cuda", rate=1e-5, entropy=0.001,
    bootstrap_draws=10_000, figure_dpi=200,
)  # fmt: skip

_SIMULATOR = UserSimulator(
    bootstrap_draws=10_000,
    interval=0.95,
    calibration_cards=100,
    audit_cards=100,
    search_cards=20,
    llm_cards=2,
    user_model="Qwen/Qwen2.5-7B-Instruct",
    policy_model="Qwen/Qwen2.5-7B-Instruct",
    figure_dpi=200,
)
_NO_MODEL = {"llm_cards": 0, "user_model": "", "policy_model": ""}

SETTINGS = {
    "00": {name: StartHere(figure_dpi=120) for name in PROFILES},
    "01": {
        "smoke": DataPipeline(15, 0, 0, 200, 0.95, figure_dpi=72),
        "laptop": DataPipeline(15, 0, 0, 2000, 0.95, figure_dpi=150),
        "gpu": DataPipeline(15, 6, 50, 10_000, 0.95, figure_dpi=200),
        "paper": DataPipeline(30, 12, 1000, 10_000, 0.95, figure_dpi=200),
    },
    "02": {
        "smoke": replace(
            _SIMULATOR,
            bootstrap_draws=200,
            calibration_cards=6,
            audit_cards=6,
            search_cards=2,
            figure_dpi=72,
            **_NO_MODEL,
        ),
        "laptop": replace(
            _SIMULATOR, bootstrap_draws=2000, figure_dpi=150, **_NO_MODEL
        ),
        "gpu": _SIMULATOR,
        "paper": replace(
            _SIMULATOR,
            llm_cards=5,
            user_model="deepseek-chat",
            policy_model="deepseek-chat",
        ),
    },
    "03": {
        "smoke": EmpaEvaluation(bootstrap_draws=200, interval=0.95, figure_dpi=72),
        "laptop": EmpaEvaluation(bootstrap_draws=2000, interval=0.95, figure_dpi=150),
        "gpu": EmpaEvaluation(bootstrap_draws=10_000, interval=0.95, figure_dpi=200),
        "paper": EmpaEvaluation(bootstrap_draws=10_000, interval=0.95, figure_dpi=200),
    },
    "04": {
        "smoke": replace(
            _RLVER, steps=2, dialogues=8, group=4, seeds=1, check_every=1,
            curve_cards=2, final_cards=3, bootstrap_draws=200, figure_dpi=72,
        ),
        "laptop": _RLVER,
        "gpu": _RLVER_GPU,
        "paper": replace(
            _RLVER_GPU, steps=350, reply_limit=2048, check_every=50, lora=64,
            policy="Qwen/Qwen2.5-7B-Instruct", rate=1e-6,
        ),
    },
    "05": MAPO,
    "06": RAPO,
    "07": RACE,
}  # fmt: skip

# The artifacts of these come from the same source at every profile: rules or released
# numbers. What a model adds at gpu and paper names its own source.
ALWAYS = {"00": "scripted", "02": "scripted", "03": "records", "05": "scripted",
          "06": "scripted", "07": "scripted"}  # fmt: skip


def settings(notebook: str, profile: str):
    """The settings of a notebook ("03" or "03_empa_evaluation") at a profile.

    Raises:
        ValueError: the profile is unknown, or the notebook has no settings.
    """
    name = get(profile).name
    if notebook[:2] not in SETTINGS:
        raise ValueError(
            f"No settings for notebook {notebook!r} in helpers/profiles.py: "
            f"known are {', '.join(SETTINGS)}"
        )
    return SETTINGS[notebook[:2]][name]


def backend(notebook: str, profile: str) -> str:
    """Where a notebook's numbers come from: "records", "scripted" or "llm"."""
    return ALWAYS.get(notebook[:2], get(profile).backend)


def as_table(values) -> pd.DataFrame:
    """Settings as a table: setting, value, paper, source, why; one row a field."""
    rows = [
        {"setting": f.name, "value": getattr(values, f.name), **f.metadata}
        for f in fields(values)
    ]
    return pd.DataFrame(rows, columns=["setting", "value", "paper", "source", "why"])
