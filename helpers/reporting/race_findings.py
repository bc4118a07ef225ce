"""One page on the horse race: what can be concluded and what cannot, from its numbers.

A difference is told apart where its interval excludes zero: the one over cases and
seeds, or with a single seed the one over cases. One such difference concludes nothing:
see `conclusive`. No sentence holds a number that is not in the frames.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from helpers.reporting.tables import format_number, signed

CAN, CANNOT = "can be concluded", "cannot be concluded"
MAJORITY = 0.5  # share of measures and users that must be told apart, one way
EQUAL = 10  # percent by which budgets may differ and still be called equal
# (more, less, the question): what each pair would show.
QUESTIONS = (
    ("MAPO", "GRPO", "Is credit by turn better than one credit a dialogue?"),
    ("MAPO", "turn-only", "Does MAPO need its batch half?"),
    ("MAPO", "batch-only", "Does MAPO need its turn half?"),
    ("PPO", "GRPO", "Is a critic better than a group?"),
    ("RAPO", "comparative_po", "Do reactions and notes help ranks?"),
    ("RAPO", "MAPO", "Are ranks of replies better than distances?"),
    ("MAPO + verbal", "MAPO", "Does RAPO's verbal term help MAPO?"),
    ("MAPO", "supervised", "Does reward beat a good teacher (MAPO)?"),
    ("RAPO", "supervised", "Does reward beat a good teacher (RAPO)?"),
    *(
        (f"{name}, think", name, f"Does thinking help {name}?")
        for name in ("GRPO", "PPO", "MAPO", "RAPO", "turn-only", "batch-only",
                     "MAPO + verbal", "comparative_po")
    ),
)  # fmt: skip
WANTED = [(more, less) for more, less, _ in QUESTIONS]
SCALE = (
    "How large any of this is for a real model and real people: the policy is tiny, "
    "user, judge and every scorer are rules of the kit, and the words are a closed "
    "grammar."
)


def page(
    own: pd.DataFrame,
    found: pd.DataFrame,
    against_base: pd.DataFrame,
    spent: pd.DataFrame,
) -> pd.DataFrame:
    """The page as a table: kind (CAN, CANNOT), question, answer.

    Args:
        own: of `race_scores.board`. found: of `race_scores.pairs` with WANTED.
        against_base: of the same, of every label over its start. spent: of
            `race_budget.totals`.
    """
    rows = [_trained(against_base)]
    for more, less, question in QUESTIONS:
        part = found[(found["more"] == more) & (found["less"] == less)]
        if part.empty:
            rows.append((CANNOT, question, f"{more} or {less} was not run."))
        else:
            rows.append(_answer(question, more, less, part))
    rows += [_transfer(own), _agreement(own), _budget(spent), _luck(found, own)]
    rows.append((CANNOT, "How large are the effects?", SCALE))
    frame = pd.DataFrame(rows, columns=["kind", "question", "answer"])
    return frame.sort_values("kind", kind="stable", ignore_index=True)


def _trained(part: pd.DataFrame) -> tuple:
    higher = part["verdict"] == "higher"
    by_label = higher.groupby(part["more"], sort=False).agg(["sum", "size"])
    whole = by_label[by_label["sum"] == by_label["size"]].index
    rest = [f"{name} {row['sum']} of {row['size']}"
            for name, row in by_label.drop(index=whole).iterrows()]  # fmt: skip
    answer = f"By every measure with both users: {', '.join(whole) or 'none'}."
    answer += f" Less than that: {', '.join(rest)}." if rest else ""
    kind = CAN if higher.mean() >= MAJORITY else CANNOT
    return kind, "Does training beat the start?", answer


def conclusive(part: pd.DataFrame) -> str:
    """ "higher" or "lower" when one pair's rows allow to say so, else "".

    They do when at least half of the measures and users are told apart, all in one
    direction, and the intervals cover other seeds too.
    """
    told = part.loc[part["verdict"].isin(["higher", "lower"]), "verdict"]
    one_way = told.nunique() == 1 and len(told) >= MAJORITY * len(part)
    return told.iloc[0] if one_way and part["low too"].notna().all() else ""


def _answer(question: str, more: str, less: str, part: pd.DataFrame) -> tuple:
    counts = part["verdict"].value_counts()
    higher, lower = int(counts.get("higher", 0)), int(counts.get("lower", 0))
    side = conclusive(part)
    if side:
        head = f"{more} is {side} than {less}"
    elif part["low too"].isna().any():
        head = f"One seed is no ground to say; for these runs {more} against {less}"
    else:
        head = f"{more} and {less} are not told apart clearly"
    text = f"{head}: higher by {higher}, lower by {lower} of {len(part)} measures and "
    told = part[part["verdict"].isin(["higher", "lower"])]
    shown = [
        f"{row['measure']}, {row['user']} {signed(row['difference'])} ({_span(row)})"
        for row in told.to_dict("records")
    ]
    text += "users" + (f": {'; '.join(shown)}." if shown else ".")
    return CAN if side else CANNOT, question, text


def _transfer(own: pd.DataFrame) -> tuple:
    """Whether the order of the methods survives a change of user."""
    question = "Does the order hold with a user that nobody trained with?"
    users = list(dict.fromkeys(own["user"]))
    if len(users) < 2:
        return CANNOT, question, "One user only was met."
    parts, kept, measures = [], [], list(dict.fromkeys(own["measure"]))
    for name in measures:
        wide = own[own["measure"] == name].pivot(
            index="label", columns="user", values="value"
        )
        first, other = wide[users[0]], wide[users[1]]
        correlation = _rank_correlation(first, other)
        parts.append(f"{name} {format_number(correlation, 2)}")
        if _beyond_chance(first, other, correlation):
            kept.append(name)
    return CAN if kept == measures else CANNOT, question, (
        f"Rank correlation of the methods between the two users: {', '.join(parts)}. "
        f"Beyond what shuffled orders give in 95 of 100 cases: "
        f"{', '.join(kept) or 'none'}."
    )  # fmt: skip


def _beyond_chance(a: pd.Series, b: pd.Series, found: float, draws: int = 2000) -> bool:
    """Whether a rank correlation is above those of 95 % of shuffled orders."""
    rng, both = np.random.default_rng(0), pd.concat([a, b], axis=1).dropna()
    if len(both) < 3 or np.isnan(found):
        return False
    first, other = both.iloc[:, 0].rank(), both.iloc[:, 1].rank().to_numpy()
    by_chance = [first.corr(pd.Series(rng.permutation(other), first.index))
                 for _ in range(draws)]  # fmt: skip
    return bool(np.mean(np.array(by_chance) >= found) < 0.05)


def _agreement(own: pd.DataFrame) -> tuple:
    """Whether the measures put the methods in one order."""
    first = own[own["user"] == own["user"].iloc[0]]
    wide = first.pivot(index="label", columns="measure", values="value")
    pairs = {
        (a, b): _rank_correlation(wide[a], wide[b])
        for a, b in combinations(wide.columns, 2)
    }
    low, high = min(pairs, key=pairs.get), max(pairs, key=pairs.get)
    every = own.pivot(index="label", columns=["user", "measure"], values="value")
    text = "; ".join(
        f"{user} user: " + ", ".join(f"{name} {label}" for name, label in part.items())
        for user in dict.fromkeys(own["user"])
        for part in [every[user].idxmax()]
    )
    return CANNOT, "Which method is the best?", (
        f"First by each measure, {text}. With the first user the measures "
        f"agree least for {low[0]} and {low[1]} (rank correlation "
        f"{format_number(pairs[low], 2)}), most for {high[0]} and {high[1]} "
        f"({format_number(pairs[high], 2)}). A first place is no difference: see the "
        "pairs."
    )  # fmt: skip


def _budget(spent: pd.DataFrame) -> tuple:
    """Whether all methods spent as many user turns."""
    turns = spent.set_index("label")["user turns"]
    turns = turns[turns > 0]
    most, least = turns.idxmax(), turns.idxmin()
    less = 100 * (1 - turns.min() / turns.max())
    return CAN if less <= EQUAL else CANNOT, "Was the budget equal?", (
        f"User turns of a run: {format_number(turns.max(), 0)} at the most ({most}), "
        f"{format_number(turns.min(), 0)} at the least ({least}), "
        f"{format_number(less, 0)} % fewer. Seconds and tokens differ more: see the "
        "table."
    )  # fmt: skip


def _luck(found: pd.DataFrame, own: pd.DataFrame) -> tuple:
    """How many comparisons there are, and what chance alone would tell apart."""
    tested = found[found["verdict"] != "no interval"]
    told = int(tested["verdict"].isin(["higher", "lower"]).sum())
    seeds = int(own[~own["label"].str.startswith("base")]["runs"].max())
    wide = int(tested["low too"].notna().sum())
    return CANNOT, "Could it be luck?", (
        f"{told} of {len(tested)} comparisons are told apart; by chance alone about "
        f"one in twenty, {format_number(len(tested) / 20, 0)}, would be, and they are "
        f"not independent. {wide} of the intervals cover other seeds too, from {seeds} "
        f"seed{'s' if seeds != 1 else ''} a method"
        + (": crude." if seeds > 1 else ": none could.")
    )  # fmt: skip


def _rank_correlation(a: pd.Series, b: pd.Series) -> float:
    """Spearman's, over the labels that have both."""
    both = pd.concat([a, b], axis=1).dropna()
    return both.iloc[:, 0].rank().corr(both.iloc[:, 1].rank())


def _span(row: dict) -> str:
    ends = ("low", "high") if np.isnan(row["low too"]) else ("low too", "high too")
    return " to ".join(signed(row[end]) for end in ends)
