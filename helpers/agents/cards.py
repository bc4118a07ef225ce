"""A scenario card as text for a prompt: one view a role, so that each role sees what
its paper lets it see.

What a card does not say (None) is left out; nothing is invented for it.
"""

from helpers.agents.roles import History
from helpers.data.scenarios import Scenario
from helpers.data.slots import AXES, INTENTIONS

JUDGE_EXPERIENCE_CHARS = 300

LABELS = {
    "name": ("Name", "姓名"),
    "age": ("Age", "年龄"),
    "gender": ("Gender", "性别"),
    "occupation": ("Occupation", "职业"),
    "outer": ("How others see this person", "社交性格"),
    "inner": ("Inner character", "内在性格"),
    "speaking_style": ("Way of speaking", "说话方式"),
    "topic": ("Subject", "话题"),
    "trigger": ("What just happened", "刚刚发生的事"),
    "circumstances": ("Life right now", "现在的情况"),
    "goal": ("Works towards", "现在的目标"),
    "to_vent": ("Wants to pour out", "想倾诉的内容"),
    "hoped_for": ("Hopes to hear", "希望得到的回应"),
    "childhood": ("Childhood", "童年"),
    "adolescence": ("Adolescence", "少年"),
    "young_adulthood": ("Young adulthood", "青年"),
    "current": ("Current", "当下"),
    "growth_line": ("Line through it all", "成长主线"),
    "lifts": ("Lifts the mood", "让情绪上升的回应"),
    "lowers": ("Lowers the mood", "让情绪下降的回应"),
    "threshold": ("Empathy threshold", "共情阈值"),
    "intention": ("Hidden intention", "隐藏意图"),
    "C": ("Priority of being understood (cognitive)", "被理解（认知）的优先级"),
    "A": ("Priority of resonance (affective)", "情感共鸣（情感）的优先级"),
    "P": ("Priority of affirmation (motivational)", "被肯定（动机）的优先级"),
}
LEVELS_ZH = {"low": "低", "medium": "中", "high": "高"}
INTENTIONS_ZH = {
    "NoFault": "你希望听到这一切不是你的错。",
    "SelfReflect": "你希望有人帮你看清自己的问题，并从中成长。",
    "Dialectic": "你希望有人和你一起公正地从多个角度看待这件事。",
    "DeepEmpathy": "你希望有人真正体会到你话语之下的感受，而不只是客气的安慰。",
    "Listen": "你希望有人专注地听你把话说完。",
    "AnalyseOthers": "你希望弄明白其他人为什么那样做。",
    "Advice": "你希望得到真正适合你情况的建议。",
    "Praise": "你希望自己真正做到的事得到真诚的称赞。",
}
PERSONA = ("name", "age", "gender", "occupation", "outer", "inner", "speaking_style")
SITUATION = ("topic", "trigger", "circumstances", "goal", "to_vent", "hoped_for")
PERIODS = ("childhood", "adolescence", "young_adulthood", "current")


def persona_text(card: Scenario) -> str:
    """Who the person is; the release's own text where the card carries it."""
    if card.persona.notes is not None:
        return card.persona.notes
    return _lines(card, {key: getattr(card.persona, key) for key in PERSONA})


def background_text(card: Scenario) -> str:
    """SAGE's dialogue background: situation, memories, reactions, hidden intention.

    A card that was imported from SAGE carries this as one text.
    """
    if card.situation.background is not None:
        return card.situation.background
    parts = {key: getattr(card.situation, key) for key in SITUATION}
    parts |= _memories(card, PERIODS)
    parts["growth_line"] = card.memories.growth_line
    text = _lines(card, parts) + "\n" + reactions_text(card)
    if card.intention is None:
        return text.strip()
    english = INTENTIONS[card.intention].purpose
    said = INTENTIONS_ZH[card.intention] if card.language == "zh" else english
    return f"{text}\n{_lines(card, {'intention': said})}".strip()


def reactions_text(card: Scenario) -> str:
    rules = card.reaction_rules
    parts = {name: "; ".join(getattr(rules, name)) for name in ("lifts", "lowers")}
    lines = _lines(card, {name: text or None for name, text in parts.items()})
    return "\n".join(part for part in (lines, rules.notes) if part)


def priorities_text(card: Scenario) -> str:
    """The priorities of the three needs, as the card states them."""
    return _lines(card, {axis: level(card, card.priorities[axis]) for axis in AXES})


def actor_card(card: Scenario) -> str:
    """EMPA's whole persona card: all but the story stages and the scores."""
    return "\n".join(
        part
        for part in (
            persona_text(card),
            _lines(card, {"threshold": level(card, card.threshold)}),
            reactions_text(card),
            priorities_text(card),
            _lines(card, {k: getattr(card.situation, k) for k in SITUATION}),
            experience_text(card),
        )
        if part
    )


def judge_card(card: Scenario) -> str:
    """EMPA's condensed card: person, threshold, needs; of the experience only the line
    through it, or the first 300 characters. No story stages, no trigger.
    """
    needs = {k: getattr(card.situation, k) for k in ("topic", "to_vent", "hoped_for")}
    line = card.memories.growth_line
    past = experience_text(card)[:JUDGE_EXPERIENCE_CHARS]
    return "\n".join(
        part
        for part in (
            persona_text(card),
            _lines(card, {"threshold": level(card, card.threshold)}),
            reactions_text(card),
            _lines(card, needs),
            priorities_text(card),
            past if line is None else _lines(card, {"growth_line": line}),
        )
        if part
    )


def experience_text(card: Scenario) -> str:
    """All memories and the line through them."""
    parts = _memories(card, PERIODS) | {"growth_line": card.memories.growth_line}
    return _lines(card, parts)


def memory_text(card: Scenario, period: str) -> str:
    """One period's memory, "" when the card has none."""
    return _lines(card, _memories(card, (period,)))


def level(card: Scenario, value: str | None) -> str | None:
    return LEVELS_ZH.get(value) if card.language == "zh" else value


def numbered(history: History, user: str, assistant: str) -> str:
    """The conversation as numbered lines; names as the reader should see them."""
    names = {"user": user, "assistant": assistant}
    return "\n".join(
        f"{number}. {names[message.role]}: {message.content}"
        for number, message in enumerate(history, 1)
    )


def _memories(card: Scenario, periods: tuple[str, ...]) -> dict[str, str | None]:
    return {period: getattr(card.memories, period) for period in periods}


def _lines(card: Scenario, parts: dict[str, object]) -> str:
    column = ("en", "zh").index(card.language)
    return "\n".join(
        f"{LABELS[key][column]}: {value}"
        for key, value in parts.items()
        if value is not None
    )
