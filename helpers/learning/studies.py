"""The training runs of notebooks 04, 05 and 06, made from a notebook's settings.

`rlver`, `mapo` and `rapo` each give a function from a method's name to its recipe. What
differs between them is what a run is trained for and who looks at it; what a method is
stands in `methods`. Notebook 07 calls the same functions with the same settings, and so
finds the runs by their hash.
"""

from collections.abc import Callable

from helpers.learning import methods
from helpers.learning.credit import Credit
from helpers.learning.recipes import Checks, Recipe

Make = Callable[..., Recipe]
VERBAL = "MAPO + verbal"
USERS = ("vanilla", "second")  # whom checks by EMPA's distance meet


def rlver(
    settings, seed: int, policy: str = "", user_model: str = "", paper: bool = False
) -> Make:
    """Notebook 04: trained for the last emotion, checked by SAGE's rules.

    Args:
        settings: of the notebook. seed: the first. policy, user_model: instead of the
            settings'. paper: whether to take what the paper states (`methods.Scale`).

    Returns:
        function (name, think=False, user="vanilla"), whom it trains with -> recipe.
    """
    user_model = user_model or settings.user_model
    scale = _scale(settings, policy, user_model=user_model, paper="rlver" * paper)
    users = ("vanilla", "challenging", *(() if user_model else ("second",)))
    checks = _checks(settings, users)

    def recipe(name: str, think: bool = False, user: str = "vanilla") -> Recipe:
        return methods.make_recipe(
            name, scale, **_chosen("rlver", settings, scale, name, think), seed=seed,
            think=think, user=user, checks=checks,
        )  # fmt: skip

    return recipe


def mapo(settings, seed: int, policy: str = "", paper: bool = False) -> Make:
    """Notebook 05: trained for EMPA's distance, with a judge beside the user.

    Args: as `rlver`.

    Returns:
        function (name, think=False, **changes) -> recipe. changes: steps, every (steps
        between two checks), credit, reward.
    """
    own = Credit("mixed", settings.gamma, alpha=settings.alpha, scope=settings.scope)

    def recipe(
        name: str, think: bool = False, steps: int = 0, every: int = 0,
        credit: Credit | None = None, reward: str = "distance",
    ) -> Recipe:  # fmt: skip
        scale = _scale(settings, policy, steps, settings.updates, paper="mapo" * paper)
        mixed = name in ("MAPO", VERBAL)  # the latter, never tuned, takes MAPO's rate
        known = own if mixed else methods.METHODS[name].credit
        tuned = _chosen("mapo", settings, scale, "MAPO" if mixed else name)
        return methods.make_recipe(
            name, scale, **tuned, seed=seed, think=think, rules="empa", reward=reward,
            credit=credit or known, epsilon_high=settings.epsilon_high,
            checks=_checks(settings, USERS, "empa", every),
        )  # fmt: skip

    return recipe


def rapo(settings, seed: int, policy: str = "", judge_model: str = "") -> Make:
    """Notebook 06: ranks of candidate replies, and GRPO on whole dialogues beside them.

    Args: as `rlver`. judge_model: looks back and compares; empty: as the settings say.

    Returns:
        function (name, think=False, user="vanilla", steps=0, **switches) -> recipe.
        switches: of `HindsightSettings`; steps: instead of the settings'.
    """
    judge = judge_model or settings.judge_model

    def recipe(
        name: str, think: bool = False, user: str = "vanilla", steps: int = 0,
        **switches,
    ) -> Recipe:  # fmt: skip
        scale = _scale(settings, policy, steps, settings.updates)
        if judge and methods.METHODS[name].hindsight is not None:
            switches = {"reward_model": judge, "judge_model": judge, **switches}
        variant = "RAPO" if name.startswith("RAPO") else name
        return methods.make_recipe(
            name, scale, **_chosen("rapo", settings, scale, variant), seed=seed,
            think=think, user=user, rules="empa", hindsight=switches or None,
            epsilon_high=settings.epsilon_high, checks=_checks(settings, USERS, "empa"),
        )  # fmt: skip

    return recipe


def _scale(
    settings, policy: str, steps: int = 0, updates: int = 1, **more
) -> methods.Scale:
    return methods.Scale(
        steps=steps or settings.steps, dialogues=settings.dialogues,
        group=settings.group, minibatches=updates, reply_limit=settings.reply_limit,
        save_every=settings.check_every, policy=policy or settings.policy,
        lora=settings.lora or (8 if policy else 0), device=settings.device, **more,
    )  # fmt: skip


def _checks(settings, users, rules: str = "sage", every: int = 0) -> Checks:
    return Checks(
        rules=rules, every=every or settings.check_every, users=users,
        curve_cards=settings.curve_cards, final_cards=settings.final_cards,
    )  # fmt: skip


def _chosen(family: str, settings, scale, name: str, think: bool = False) -> dict:
    """Rate and entropy: the settings', else as tuned for the tiny policy."""
    if scale.policy == "tiny" and not settings.rate:
        return methods.tuned(family, name, think)
    return {"rate": settings.rate or 1e-4, "entropy": settings.entropy}
