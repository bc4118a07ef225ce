"""SAGE's emotion scale: start, clipping, states and stop rules, with RLVER's variants.

Papers: SAGE 2505.02847 appendix G and released code (evaluation); RLVER 2507.03112
appendix E.1 and released code (training). Fact sheet of RLVER, A2, B4, B5, E1 to E4.
"""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class EmotionRules:
    """Every switch of the scale.

    start: e_0. clip: largest change a turn, None = no clip (the released training
        simulator). ceiling: upper bound. stop_below: the dialogue fails when
        e < stop_below (SAGE 10; RLVER stops at e <= 0, so 1 on the whole-number
        scale). stop_at: it succeeds when e >= stop_at; None = no such stop.
    floor: lower bound of the value; SAGE has none, RLVER floors only the reward.
    leave_at: a rule-based user takes leave there, as state S tells an LLM user to.
    """

    start: int = 40
    clip: int | None = 10
    ceiling: int = 100
    floor: int | None = None
    stop_below: int = 10
    stop_at: int | None = 100
    leave_at: int | None = 100

    @classmethod
    def sage(cls) -> "EmotionRules":
        """The benchmark: start 40, change clipped to +-10, stop below 10 or at 100."""
        return cls()

    @classmethod
    def rlver_training(cls) -> "EmotionRules":
        """The released training simulator: start 30, no clip, stop at 0 or below.

        It has no explicit stop at 100; its users take leave there.
        """
        return cls(start=30, clip=None, stop_below=1, stop_at=None)

    @classmethod
    def latched(cls) -> "EmotionRules":
        """SAGE's scale for fixed-length dialogues: who reached 100 stays and talks on
        (a laptop simplification, with `RunSettings.latch_success`)."""
        return cls(leave_at=None)

    @classmethod
    def unending(cls) -> "EmotionRules":
        """SAGE's scale without any stop, floored at 0: EMPA's rules alone decide."""
        return cls(floor=0, stop_below=0, stop_at=None, leave_at=None)

    def apply(self, emotion: int, change: int) -> tuple[int, int]:
        """(emotion after, change after clipping)."""
        if self.clip is not None:
            change = max(-self.clip, min(self.clip, change))
        after = min(emotion + change, self.ceiling)
        if self.floor is not None:
            after = max(after, self.floor)
        return after, change

    def ending(self, emotion: int) -> str | None:
        """"success", "collapse" or None (the dialogue goes on)."""
        if emotion < self.stop_below:
            return "collapse"
        if self.stop_at is not None and emotion >= self.stop_at:
            return "success"
        return None

    def describe(self) -> dict:
        return asdict(self)
