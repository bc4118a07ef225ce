"""Settings of notebook 07: ablations, the horse race, gaming and forgetting.

Sizes of the training runs are those of notebooks 04, 05 and 06, whose runs it reuses.
"""

from dataclasses import dataclass, replace

from helpers.training_settings import setting


@dataclass(frozen=True)
class Race:
    """Settings of notebook 07."""

    pair_cards: int = setting(
        "not stated", "EMPA 4.3", "test cards whose talks are perturbed"
    )
    flips: int = setting("251 in all", "EMPA Table 5", "of each talk, at the most")
    judge_repeats: int = setting("not stated", "EMPA 4.3", "a rule repeats itself: 1")
    judge_models: str = setting(
        "Gemini 2.5 Pro", "EMPA 3.3", "comma between names; empty: rules only"
    )
    race_cards: int = setting("30", "EMPA", "test cards that each policy meets")
    thinking: str = setting(
        "both", "RLVER Table 1", "methods that also run with thinking"
    )
    difficulty_seeds: int = setting("1", "RLVER Table 3", "minutes")
    lessons: int = setting("-", "stands in for RLVER Table 2", "items of each test")
    benchmarks: int = setting(
        "1", "RLVER Table 2", "1: run lm-eval on each policy, which needs a GPU"
    )
    bootstrap_draws: int = setting(
        "not stated", "EMPA Table 5 prints intervals", "fewer draws save time"
    )
    interval: float = setting("0.95", "EMPA Table 5: 95 % CI", "as in the paper")
    figure_dpi: int = setting(
        "-", "no number of the paper depends on it", "size of the PNG files"
    )


_LAPTOP = Race(
    pair_cards=100, flips=3, judge_repeats=1, judge_models="", race_cards=60,
    thinking="", difficulty_seeds=1, lessons=32, benchmarks=0,
    bootstrap_draws=2000, interval=0.95, figure_dpi=150,
)  # fmt: skip
_GPU = replace(
    _LAPTOP, pair_cards=20, judge_repeats=3, thinking="GRPO,MAPO,RAPO",
    judge_models="deepseek-chat,Qwen/Qwen2.5-7B-Instruct", race_cards=30,
    difficulty_seeds=1, benchmarks=1, bootstrap_draws=10_000, figure_dpi=200,
)  # fmt: skip

RACE = {
    "smoke": replace(
        _LAPTOP, pair_cards=4, flips=2, race_cards=3, thinking="MAPO", lessons=4,
        bootstrap_draws=200, figure_dpi=72,
    ),
    "laptop": _LAPTOP,
    "gpu": _GPU,
    "paper": replace(_GPU, pair_cards=100),
}  # fmt: skip
