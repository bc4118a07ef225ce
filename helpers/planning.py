"""What a notebook is going to run at a profile with models: training runs and calls.

Counts come from the notebook's settings and parameters; the formulas repeat what the
notebooks do, and a test holds them against the notebooks. Tokens of a call and seconds
of a step are estimates: each is a product that is printed, of counts and of the
assumptions named here.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from helpers import profiles
from helpers.agents.templates import FOLDER

# Assumptions, none measured.
REPLY = 120  # tokens that a chat model says in a turn, if its limit lets it
LINE = 40  # tokens of a user's line, and of the rest of its reply
CARD = 500  # tokens of a person's card in a prompt
LETTERS = 4  # characters a token, English
CALL_S = 2.0  # seconds of one call to an endpoint
TOGETHER = 8  # calls at a time (RoleSettings.concurrency)
USED = 0.3  # share of a GPU's peak that training reaches
READ = 0.5  # share of its memory bandwidth that generation reaches

# bf16 TFLOP/s without sparsity, memory TB/s: data sheets of the maker.
PEAK = {
    "H200": (989, 4.8), "H100": (989, 3.35), "A100": (312, 2.0), "L40S": (362, 0.864),
    "A10": (125, 0.6), "L4": (121, 0.3), "4090": (165, 1.01), "3090": (71, 0.936),
}  # fmt: skip


@dataclass(frozen=True)
class Training:
    """Runs of one notebook that differ in nothing that counts here.

    dialogues, replies: of a step, the most of each dialogue. checks: dialogues of all
    checks of a run. critics: how many of the runs have a second model. user_model:
    empty by rule.
    """

    notebook: str
    what: str
    runs: int
    steps: int
    dialogues: int
    replies: int
    limit: int
    checks: int
    policy: str
    lora: int
    critics: int = 0
    user_model: str = ""

    @property
    def talks(self) -> int:
        """Dialogues of all runs, checks included."""
        return self.runs * (self.steps * self.dialogues + self.checks)

    @property
    def reply(self) -> int:
        return min(self.limit, REPLY)

    def calls(self) -> "Calls | None":
        """What the user costs: a feeling and a line for each reply."""
        if not self.user_model:
            return None
        read = size("sage_emotion", "sage_reply") // 2 + CARD
        read += self.replies * (self.reply + LINE) // 2
        how = (
            f"{self.runs} runs x ({self.steps} steps x {self.dialogues} + {self.checks}"
            f") dialogues x {self.replies} replies x 2"
        )
        number = self.talks * self.replies * 2
        return Calls(self.notebook, "user", self.user_model, number, read, LINE, how)

    def seconds(self, gpu: str, parameters: float) -> tuple[float, str] | None:
        """Of all runs on one GPU of that name, and the arithmetic; None: not known."""
        known = [peak for name, peak in PEAK.items() if name in gpu]
        if not known:
            return None
        flops, bandwidth = known[0][0] * 1e12, known[0][1] * 1e12
        tokens = self.replies * (self.reply + LINE)
        models = 1 + self.critics / self.runs
        learn = 6 * parameters * models * tokens * self.dialogues / (USED * flops)
        speak = self.replies * self.reply * 2 * parameters / (READ * bandwidth)
        ask = 0.0
        if self.user_model:
            ask = self.dialogues * self.replies * 2 * CALL_S / TOGETHER
        step = learn + speak + ask
        share = 1 + self.checks / (self.steps * self.dialogues)
        how = (
            f"{self.runs} x {self.steps} steps x ({learn:.0f} learning + {speak:.0f} "
            f"generation + {ask:.0f} user) s x {share:.2f} for checks"
        )
        return self.runs * self.steps * step * share, how


@dataclass(frozen=True)
class Calls:
    """Calls to an endpoint: number, tokens read and written by each, and how the number
    comes about."""

    notebook: str
    role: str
    model: str
    number: int
    read: int
    written: int
    how: str

    @property
    def tokens(self) -> int:
        return self.number * (self.read + self.written)


def size(*templates: str) -> int:
    """Tokens of these prompts together, about."""
    texts = [(FOLDER / f"{name}.en.md").read_text("utf-8") for name in templates]
    return sum(map(len, texts)) // LETTERS


def plan(
    number: str, settings: Any, values: Mapping[str, Any]
) -> tuple[list[Training], list[Calls]]:
    """What a notebook runs.

    Args:
        settings: of the notebook at the profile. values: its parameters.
    """
    trained = TRAINED[number](settings, values) if number in TRAINED else []
    calls = [made for one in trained if (made := one.calls())]
    if number in ASKED:
        calls += ASKED[number](settings, values)
    return trained, calls


def _training(number, settings, values, what, runs, steps, replies, **more) -> Training:
    points = max(1, steps // settings.check_every)
    users = 3 if not more.get("user_model") and number == "04" else 2
    checks = points * settings.curve_cards + users * settings.final_cards
    return Training(
        number, what, runs, steps, settings.dialogues, replies, settings.reply_limit,
        checks, values.get("POLICY") or settings.policy, settings.lora, **more,
    )  # fmt: skip


def _rlver(settings, values) -> list[Training]:
    seeds = values.get("SEEDS") or settings.seeds
    user = values.get("USER_MODEL") or settings.user_model
    what = "PPO and GRPO, with and without thinking; PPO with challenging users"
    return [
        _training("04", settings, values, what, 6 * seeds, settings.steps, 8,
                  critics=4 * seeds, user_model=user)
    ]  # fmt: skip


def _mapo(settings, values) -> list[Training]:
    seeds = values.get("SEEDS") or settings.seeds
    long = values.get("LONG_STEPS") or settings.long_steps
    most = settings.ablation_values
    varied = 1 + sum(min(n, most) for n in (5, 2, 1, 4))  # alpha, gamma, scope, reward
    varied *= min(seeds, settings.ablation_seeds)

    def of(what, runs, steps, **more):
        return _training("05", settings, values, what, runs, steps, 10, **more)

    made = [of("six methods", 6 * seeds, settings.steps, critics=seeds)]
    if long != settings.steps:
        made.append(of("long pair", 2, long))
    if settings.ablation_steps:
        made.append(of("ablations", varied, settings.ablation_steps))
    return made


def _rapo(settings, values) -> list[Training]:
    seeds = values.get("SEEDS") or settings.seeds
    few = min(seeds, settings.ablation_seeds)
    runs = 8 * seeds + (3 + len(settings.weights)) * few
    return [
        _training("06", settings, values, "ladder, controls, sweep", runs,
                  settings.steps, 10)
    ]  # fmt: skip


def _race(settings, values) -> list[Training]:
    """What notebooks 04 to 06 have not trained: MAPO with the verbal term, two methods
    by rank at 05's budget, those that think, and PPO with two more users."""
    emotion, distance = (
        profiles.settings(n, values["PROFILE"]) for n in ("04", "05")
    )  # fmt: skip
    thinking = values.get("THINKING") or settings.thinking
    think = [name for name in thinking.split(",") if name]
    seeds = values.get("SEEDS") or distance.seeds
    hard = values.get("SEEDS") or settings.difficulty_seeds
    return [
        _training("07", distance, values, "the race", (3 + len(think)) * seeds,
                  distance.steps, 10, critics=think.count("PPO") * seeds),
        _training("07", emotion, values, "PPO with two more users",
                  2 * hard, emotion.steps, 8, critics=2 * hard,
                  user_model=emotion.user_model),
    ]  # fmt: skip


TRAINED = {"04": _rlver, "05": _mapo, "06": _rapo, "07": _race}


def _pipeline(settings, values) -> list[Calls]:
    model, talks = values.get("INFRA_MODEL", ""), 95 + settings.esconv_dialogues
    if not model:
        return []
    read = size("pipeline_mark", "pipeline_persona", "pipeline_crisis") // 3 + 800
    how = f"{talks} dialogues x 3 stages + {settings.expand} cards"
    return [Calls("01", "pipeline", model, 3 * talks + settings.expand, read, 400, how)]


def _simulator(settings, values) -> list[Calls]:
    user = values.get("USER_MODEL") or settings.user_model
    policy = values.get("POLICY_MODEL") or settings.policy_model
    cards = settings.llm_cards
    if not (user and policy and cards):
        return []
    sage = Training("02", "", 1, 1, cards, 9, REPLY, 0, "", 0, user_model=user).calls()
    return [
        Calls("02", "user", user, cards * 9 * 2, sage.read, LINE,
              f"{cards} cards x 9 replies x 2"),
        *_empa("02", user, policy, cards),
    ]  # fmt: skip


def _board(settings, values) -> list[Calls]:
    infra, policy = values.get("INFRA_MODEL", ""), values.get("POLICY_MODEL", "")
    return _empa("03", infra, policy, 30) if infra and policy else []


def _empa(number: str, infra: str, policy: str, cards: int) -> list[Calls]:
    turns = 45  # EMPA's limit
    read = size("empa_actor_turn", "empa_director", "empa_mdep") // 3 + CARD
    read += turns * (REPLY + LINE) // 2
    return [
        Calls(number, "user, judge, director", infra, cards * turns * 3, read, 200,
              f"{cards} cards x {turns} turns x 3 roles"),
        Calls(number, "policy", policy, cards * turns, read - CARD, REPLY,
              f"{cards} cards x {turns} turns"),
    ]  # fmt: skip


def _hindsight(settings, values) -> list[Calls]:
    """A look back at each dialogue held, and a comparison of each group."""
    model = values.get("JUDGE_MODEL") or settings.judge_model
    if not model:
        return []
    (training,) = _rapo(settings, values)
    held = settings.dialogues // 2
    groups = held * training.replies // settings.group
    read = size("rapo_selection", "rapo_feedback") // 2 + CARD
    read += training.replies * (training.reply + LINE) // 2
    number = training.runs * settings.steps * (held + groups)
    how = f"{training.runs} runs x {settings.steps} steps x ({held} + {groups})"
    return [Calls("06", "judge", model, number, read, 300, how)]


ASKED = {"01": _pipeline, "02": _simulator, "03": _board, "06": _hindsight}
COUNTED = {"04", *ASKED}  # all calls of these are counted; 04's are of its users


def parameters(policy: str) -> tuple[float | None, str]:
    """Number of weights of a model and where it is known from; None: not known."""
    folder = Path(policy)
    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    if files:
        total = 0
        for path in files:
            with safe_open(path, "pt") as weights:
                shapes = [weights.get_slice(k).get_shape() for k in weights.keys()]
            total += sum(math.prod(shape) for shape in shapes)
        return float(total), "its files"
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)([BMbm])(?![a-zA-Z])", folder.name)
    if policy == "smollm2":
        return 135e6, "its name"
    if not found:
        return None, "not known"
    scale = 1e9 if found.group(2) in "Bb" else 1e6
    return float(found.group(1)) * scale, "its name"
