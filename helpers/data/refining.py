"""Stage 3 for one card: give it its levels, then hold it against its source.

Paper: EMPA (arXiv 2603.00552) Algorithm 1, stage 3: keep if Validate(s, Q), and
estimate the initial deficit (IEDR) before any interaction.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from helpers.data import checks
from helpers.data.marking import Features, Segment
from helpers.data.personal import Span
from helpers.data.raw import RawDialogue
from helpers.data.scenarios import Scenario
from helpers.data.slots import AXES, ITEMS


@dataclass(frozen=True)
class Source:
    """What a card is compared with: features, raw messages, removed values, story."""

    features: Features
    messages: tuple[str, ...]
    values: tuple[str, ...]
    story: str

    @classmethod
    def of(cls, marked: dict, raw: RawDialogue) -> "Source":
        segment = Segment(**marked["segment"])
        part = marked["turns"][segment.first : segment.last + 1]
        texts = [turn.text for turn in raw.turns]
        spans = [Span(**span) for span in marked["removed"]]
        return cls(
            Features.from_json(marked["features"]),
            (*texts, *(turn["text"] for turn in marked["turns"])),
            tuple(texts[s.turn][s.start : s.end] for s in spans),
            "\n".join(t["text"] for t in part if t["role"] == "seeker"),
        )


class Bench:
    """The checks of stage 3, and the cards that passed so far.

    rate: gives the nine IEDR levels of a card.
    """

    def __init__(self, rate: Callable[[Scenario, Features], Mapping[str, int]]):
        self._rate = rate
        self._kept: list[tuple[str, str, set]] = []

    def keep(self, card: Scenario, source: Source | None) -> None:
        """Later cards may be no doubles of this one."""
        story = source.story if source else ""
        self._kept.append((card.id, story, checks.card_runs(card)))

    def judge(self, draft: Mapping, source: Source) -> tuple[Scenario | None, str, str]:
        """(card with its levels, "", "") or (None, reason, detail).

        What `rate` raises passes through.
        """
        try:
            card = Scenario.model_validate_json(json.dumps(draft["card"]))
            levels = self._rate(card, source.features)
            rated = draft["card"] | {
                "needs": {item: levels[item] for item in ITEMS},
                "priorities": {
                    axis: checks.PRIORITY[levels[f"{axis}.3"]] for axis in AXES
                },
            }
            card = Scenario.model_validate_json(json.dumps(rated))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            return None, "schema", f"field {field}: {first['msg']}"
        if found := checks.contradictions(card, source.features):
            return None, "contradiction", found[0]
        if run := checks.shared_run(card, source.messages):
            return None, "leakage", f"eight words of the source: {run!r}"
        if checks.personal_value(card, source.values):
            return None, "personal_data", "a removed value stands in the card"
        own = checks.card_runs(card)
        for ident, story, runs in self._kept:
            if checks.same_story(story, source.story) or checks.same_card(runs, own):
                return None, "near_duplicate", f"nearly the same as {ident}"
        return card, "", ""
