"""A recipe: all that makes one training run, as plain values with one hash.

The hash names the folder of the run, so that no run is repeated and none is taken for
another: it covers the settings, the weights of the start, the cards, the rules of the
scripted world, the prompts and readers that are in use, the code of the training core
and the versions of its libraries. The label is for people and is not part of it.
"""

import hashlib
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from helpers.agents.scripted import rules_source
from helpers.data.scenarios import split_path
from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.hindsight import HindsightSettings
from helpers.learning.rewards import REWARDS
from helpers.learning.settings import TrainerSettings, check_sizes
from helpers.learning.tiny import POLICY
from helpers.learning.workers import Job
from helpers.learning.worlds import RULES, TEMPERS
from helpers.sandbox.store import settings_hash

# The modules whose edits make another run, from the root of the package; those of RAPO
# and of vLLM count for the runs that use them.
CORE = {
    "learning": (
        "advantages", "batches", "chat", "credit", "critic", "decoder", "engines",
        "folding", "groups", "housekeeping", "models", "rewards", "rollout", "rows",
        "settings", "tiny", "trainer", "training", "worlds",
    ),
    "sandbox": ("episode", "run"),
    "scoring": ("epm", "geometry", "rubric", "verdicts"),
}  # fmt: skip
HINDSIGHT = {
    "learning": (
        "distillation", "feedback", "hindsight", "lessons", "rapo", "selection",
        "svhpo",
    ),
    "agents": ("reactions", "reward_rules"),
}  # fmt: skip
# How replies are sampled; the last two are of `helpers.learning.vllm`, for a GPU.
ENGINES = ("decoder", "transformers", "vllm", "vllm_server")
LIBRARIES = ("torch", "transformers", "trl", "peft")


@dataclass(frozen=True)
class Checks:
    """When the policy in training is tried, on which cards.

    split: of the cards, "tune" or "test". rules: of these dialogues. every: steps
    between two points of the learning curve, curve_cards: cards of each (RLVER Fig. 4
    has 30). final_cards: cards of the last check, for each user of `users`; the curve
    meets the first of them. seed: of the dialogues, the same for every method.
    """

    split: str = "test"
    rules: str = "sage"
    every: int = 20
    curve_cards: int = 30
    final_cards: int = 100
    users: tuple[str, ...] = ("vanilla", "challenging", "second")
    seed: int = 2026


@dataclass(frozen=True)
class Recipe:
    """One training run.

    label: for tables and live lines. credit, reward, trainer, critic, hindsight: see
    there; with hindsight a row of the trainer is a candidate reply.
    think, history, reply_limit: how it talks (`rollout.TalkSettings`). rules, user:
    whom it trains with (`worlds`); user_model: the model that plays that user, empty
    for the rules. policy: "tiny", or what `models.load_policy` takes; lora: rank, 0 for
    all weights. engine: key of ENGINES; "decoder" takes the tiny policy only.
    """

    label: str
    credit: Credit
    reward: str
    trainer: TrainerSettings
    critic: CriticSettings | None = None
    think: bool = False
    history: str = "stripped"
    reply_limit: int = 40
    rules: str = "rlver"
    user: str = "vanilla"
    user_model: str = ""
    policy: str = "tiny"
    lora: int = 0
    engine: str = "decoder"
    checks: Checks = field(default_factory=Checks)
    hindsight: HindsightSettings | None = None

    def __post_init__(self):
        for name, value, known in (
            ("reward", self.reward, REWARDS), ("rules", self.rules, RULES),
            ("user", self.user, TEMPERS), ("check rules", self.checks.rules, RULES),
            ("engine", self.engine, ENGINES),
            *(("check user", user, TEMPERS) for user in self.checks.users),
        ):  # fmt: skip
            if value not in known:
                raise ValueError(
                    f"{self.label}: {name} {value!r}: choose of {', '.join(known)}"
                )
        check_sizes(self.trainer, self.credit)
        if self.hindsight and self.credit.needs_critic:
            raise ValueError(
                f"{self.label}: RAPO compares candidates in their group and has no "
                'critic: choose another estimator than "gae"'
            )

    def describe(self) -> dict[str, Any]:
        """JSON values, the inverse of `from_dict`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recipe":
        checks = dict(values["checks"])
        checks["users"] = tuple(checks["users"])
        made = {
            "credit": Credit(**values["credit"]),
            "trainer": TrainerSettings(**values["trainer"]),
            "critic": values["critic"] and CriticSettings(**values["critic"]),
            "checks": Checks(**checks),
            "hindsight": values["hindsight"]
            and HindsightSettings(**values["hindsight"]),
        }
        return cls(**{**values, **made})

    @property
    def hash(self) -> str:
        described = self.describe()
        del described["label"]
        judges = self.hindsight
        asked = judges and bool(judges.reward_model or judges.judge_model)
        sources = _sources(
            self.policy, self.user_model, self.checks.split, self.engine, asked
        )
        return settings_hash({"recipe": described, "sources": sources})

    def folder(self, training: Path) -> Path:
        """The folder of this run inside the folder of all runs."""
        return Path(training) / self.hash

    def job(self, training: Path) -> Job:
        return Job(self.label, self.folder(training), self.describe())


@cache
def _sources(
    policy: str, user_model: str, split: str, engine: str, judged: bool | None
) -> dict[str, Any]:
    """Hashes of what a run depends on beside its settings. The weights of a policy
    other than the tiny one, and a model behind an endpoint, are known by name only.
    judged: whether such a model gives RAPO's feedback; None: a run without RAPO."""
    package = Path(__file__).parents[1]
    agents = package / "agents"

    def modules(of: dict[str, tuple[str, ...]]) -> list[Path]:
        return [package / d / f"{n}.py" for d, names in of.items() for n in names]

    files = {"core": modules(CORE), "cards": [split_path("train"), split_path(split)]}
    if judged is not None:
        files["hindsight"] = modules(HINDSIGHT)
    if engine in ("vllm", "vllm_server"):
        files["vllm"] = modules({"learning": ("vllm",)})
    if policy == "tiny":
        files["start"] = [POLICY / "model.safetensors"]
    else:
        files["reader"] = sorted(agents.glob("free_text*.py"))
        files["prompts"] = sorted((agents / "prompts").glob("policy_*"))
    if user_model:
        files["user"] = [
            agents / "sage.py",
            *sorted((agents / "prompts").glob("sage_*")),
        ]
    if judged:
        files["judges"] = [
            agents / "reward_judge.py",
            *sorted((agents / "prompts").glob("rapo_*")),
        ]
    digests = {
        name: hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest()[:16]
        for name, paths in files.items()
    }
    versions = {name: version(name) for name in LIBRARIES}
    return {**digests, "rules": rules_source(), "versions": versions}
