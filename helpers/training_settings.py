"""Settings of the notebooks that train, one frozen dataclass each (see `profiles`).

`setting` makes a field that carries the paper's value, where it is stated, and why the
kit's value differs.
"""

from dataclasses import dataclass, field, replace


def setting(paper: str, source: str, why: str):
    """A field of a settings class; its value is given when the class is used."""
    return field(metadata={"paper": paper, "source": source, "why": why})


@dataclass(frozen=True)
class Mapo:
    """Settings of notebook 05: credit for every turn."""

    steps: int = setting(
        "about 90 (two epochs)", "released scripts", "minutes; equal for all methods"
    )
    long_steps: int = setting(
        "about 90", "released scripts", "one long pair, GRPO and MAPO"
    )
    ablation_steps: int = setting(
        "not stated", "ablation runs of the scripts", "minutes"
    )
    dialogues: int = setting("64", "scripts: 16 x 4", "of a step; half: minutes")
    group: int = setting("4", "released scripts", "as in the scripts; PPO has 1")
    updates: int = setting("2", "released scripts", "of a step, as in the scripts")
    reply_limit: int = setting(
        "25,000 a dialogue", "released scripts", "the tiny grammar needs some 25"
    )
    gamma: float = setting("not known", "scripts: 0.85 in v5", "as in the scripts")
    alpha: float = setting("0.5", "a secondary note", "one released script has 0.4")
    scope: str = setting(
        "batch (v1), group (v2)", "abstracts", "batch; group is in the ablation"
    )
    epsilon_high: float = setting("0.28", "released scripts", "as in the scripts")
    seeds: int = setting("not stated", "no interval was found", "spread needs several")
    ablation_seeds: int = setting("not stated", "no source", "minutes")
    ablation_values: int = setting(
        "not stated", "no source", "of each ablation, beside the kit's own choice"
    )
    board_seeds: int = setting(
        "not stated", "no source", "seeds on EMPA's board; dialogues are long there"
    )
    check_every: int = setting("2", "released scripts", "points of a curve")
    curve_cards: int = setting("not stated", "no source", "cards of a curve's point")
    final_cards: int = setting("30", "EMPA", "the kit's own test cards")
    board_cards: int = setting(
        "10", "EMPA Fig. 6", "cards of each dominant axis on EMPA's board"
    )
    policy: str = setting(
        "7B to 32B", "abstract v1", "offline: a tiny policy from scratch"
    )
    lora: int = setting(
        "none", "scripts train all weights", "rank; memory: PPO holds two models a GPU"
    )
    device: str = setting("8 or 32 GPUs", "released scripts", "cpu or cuda")
    rate: float = setting(
        "1e-6", "released scripts", "0: as tuned for the tiny policy (data/tuning)"
    )
    entropy: float = setting(
        "0", "released scripts", "with rate 0: as tuned (data/tuning)"
    )
    bootstrap_draws: int = setting(
        "not stated", "no interval was found", "fewer draws save time"
    )
    interval: float = setting("-", "no interval found", "as in the other tables")
    figure_dpi: int = setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


_LAPTOP = Mapo(
    steps=16, long_steps=32, ablation_steps=16, dialogues=32, group=4, updates=2,
    reply_limit=40, gamma=0.85, alpha=0.5, scope="batch", epsilon_high=0.28, seeds=3,
    ablation_seeds=1, ablation_values=5, board_seeds=1, check_every=4, curve_cards=20,
    final_cards=60, board_cards=10, policy="tiny", lora=0, device="cpu", rate=0.0,
    entropy=0.0, bootstrap_draws=2000, interval=0.95, figure_dpi=150,
)  # fmt: skip
_GPU = replace(
    _LAPTOP, steps=90, long_steps=90, dialogues=64, reply_limit=512, seeds=1,
    policy="Qwen/Qwen2.5-1.5B-Instruct", lora=16, device="cuda", rate=1e-5,
    check_every=15, final_cards=30, bootstrap_draws=10_000, figure_dpi=200,
)  # fmt: skip

MAPO = {
    "smoke": replace(
        _LAPTOP, steps=1, long_steps=1, ablation_steps=1, ablation_values=1,
        dialogues=8, seeds=1, check_every=1, curve_cards=2, final_cards=3,
        board_cards=1, bootstrap_draws=200, figure_dpi=72,
    ),
    "laptop": _LAPTOP,
    "gpu": _GPU,
    "paper": replace(
        _GPU, reply_limit=2048, lora=64, policy="Qwen/Qwen2.5-7B-Instruct", rate=1e-6,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Rapo:
    """Settings of notebook 06: reactions, ranks and a critique as teacher."""

    steps: int = setting("not found", "fact sheet, 3.4", "minutes; equal on the ladder")
    dialogues: int = setting(
        "not found", "fact sheet, 3.4", "a step takes as many user calls as these do"
    )
    group: int = setting("not found (A2)", "fact sheet, 3.2", "candidates of a turn")
    updates: int = setting("not found", "fact sheet, 3.4", "of a step, as in 05")
    reply_limit: int = setting(
        "not found", "fact sheet, 3.4", "the tiny grammar needs some 25"
    )
    weights: tuple = setting(
        "not found (A8)", "relatives: 0.001 to 1", "lambdas of the sweep, beside 0"
    )
    epsilon_high: float = setting("not found", "fact sheet, 3.3", "as in notebook 05")
    seeds: int = setting("not found", "fact sheet, 4", "spread needs several")
    ablation_seeds: int = setting("not found", "fact sheet, 4", "minutes")
    probe_turns: int = setting(
        "-", "the kit's own test of the teacher", "pivotal turns, tiny policy"
    )
    check_every: int = setting("not found", "fact sheet, 3.4", "points of a curve")
    curve_cards: int = setting("not found", "fact sheet, 4", "cards of a curve's point")
    final_cards: int = setting(
        "not found", "EmoHarbor: 100 profiles", "the kit's own test cards"
    )
    form_items: int = setting(
        "not found", "fact sheet, 4", "pairs of talks on the form for people"
    )
    policy: str = setting(
        "Qwen-2.5, size not found", "secondary summary", "offline: a tiny policy"
    )
    lora: int = setting("not found", "fact sheet, 3.4", "rank; one GPU's memory")
    judge_model: str = setting(
        "GPT-4o looks back",
        "secondary summary",
        "looks back, compares, rates; empty: the emotion trace and rules",
    )
    device: str = setting("not found", "fact sheet, 3.4", "cpu or cuda")
    rate: float = setting(
        "not found", "fact sheet, 3.4", "0: as tuned for the tiny policy (data/tuning)"
    )
    entropy: float = setting(
        "not found", "fact sheet, 3.4", "with rate 0: as tuned (data/tuning)"
    )
    bootstrap_draws: int = setting(
        "not stated", "no interval was found", "fewer draws save time"
    )
    interval: float = setting("-", "no interval found", "as in the other tables")
    figure_dpi: int = setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


_RAPO = Rapo(
    steps=8, dialogues=24, group=4, updates=2, reply_limit=40,
    weights=(0.001, 0.01, 0.1, 1.0), epsilon_high=0.28, seeds=3, ablation_seeds=1,
    probe_turns=40, check_every=2, curve_cards=20, final_cards=60, form_items=20,
    policy="tiny", lora=0, judge_model="", device="cpu", rate=0.0,
    entropy=0.0, bootstrap_draws=2000, interval=0.95, figure_dpi=150,
)  # fmt: skip
_RAPO_GPU = replace(
    _RAPO, steps=60, dialogues=64, reply_limit=512, seeds=1,
    policy="Qwen/Qwen2.5-1.5B-Instruct", lora=16, device="cuda",
    rate=1e-5, check_every=15, final_cards=30, bootstrap_draws=10_000, figure_dpi=200,
)  # fmt: skip

RAPO = {
    "smoke": replace(
        _RAPO, steps=1, dialogues=4, reply_limit=14, weights=(0.01,), seeds=1,
        probe_turns=2, check_every=1, curve_cards=1, final_cards=2, form_items=2,
        rate=3e-4, entropy=0.001, bootstrap_draws=200, figure_dpi=72,
    ),
    "laptop": _RAPO,
    "gpu": _RAPO_GPU,
    "paper": replace(
        _RAPO_GPU, reply_limit=2048, lora=64, policy="Qwen/Qwen2.5-7B-Instruct",
        rate=1e-6, judge_model="deepseek-chat",
    ),
}  # fmt: skip
