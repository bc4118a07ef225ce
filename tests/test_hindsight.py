"""Selection of turns, ranks and rewards, group feedback, the teacher's line."""

import random
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.agents.acts import Act
from helpers.agents.clauses import read_clauses
from helpers.agents.reactions import react
from helpers.agents.reward_rules import (
    ScriptedRewardModel,
    contrast,
    english_critique,
)
from helpers.agents.roles import (
    Comparison,
    Message,
    Outcome,
    Reaction,
    RoleFailure,
    Verdict,
)
from helpers.agents.scripted import ScriptedUser
from helpers.data.scenarios import load_cards
from helpers.learning import tiny
from helpers.learning.chat import ChatFormat
from helpers.learning.credit import Credit
from helpers.learning.feedback import (
    ask,
    lines_for_teacher,
    mean_ranks,
    plain_line,
    rank_rewards,
    teacher_context,
)
from helpers.learning.hindsight import (
    OPEN_CHOICES,
    GroupFeedback,
    HindsightSettings,
    HindsightTurn,
)
from helpers.learning.lessons import critique_text
from helpers.learning.rows import Row
from helpers.learning.selection import is_pivotal, select, trace_impacts, turns_of
from helpers.sandbox.dialogue import Dialogue, Failure, Turn

TALK = [Message("user", "i cry"), Message("assistant", "ok ."), Message("user", "hmm")]


def turn(row=0, number=0, impact=0, **more) -> HindsightTurn:
    return HindsightTurn(
        f"s{row}", 1, number, (TALK[0],), (1,), impact, row=row, **more
    )


def dialogue(*emotions, failure=None) -> Dialogue:
    turns = tuple(
        Turn(i + 1, f"u{i}", f"r{i}", emotion_before=a, emotion_after=b)
        for i, (a, b) in enumerate(zip(emotions, emotions[1:], strict=False))
    )
    ending = ("error", "failure") if failure else ("timeout", "limit")
    return Dialogue("s0", 0, 1, "", turns, *ending, len(turns), failure=failure)


# -- selection -------------------------------------------------------------------------


def test_the_trace_tells_signed_impacts_and_none_where_nothing_was_felt():
    assert trace_impacts(dialogue(30, 40, 35, 5, 5, 8)) == [2, -1, -2, 0, 1]
    assert trace_impacts(dialogue(30, None, 40)) == [None, None]


def test_a_turn_has_its_history_and_the_tokens_that_the_policy_saw():
    """A plain row, and one whose thoughts no later turn sees."""
    plain = Row([1, 2], [3, 4, 5, 6, 7], [1, 1, 0, 1, 1], [0, 0, -1, 1, 1],
                [0.0] * 5, dialogue(30, 40, 30))  # fmt: skip
    one, two = turns_of(plain, 3, [2, -2])
    assert one.context == (1, 2) and two.context == (1, 2, 3, 4, 5)
    assert [m.content for m in two.history] == ["u0", "r0", "u1"]
    assert (one.pivot, one.direction, two.direction, two.row) == (1.0, "+", "-", 3)
    packed = replace(
        plain, completion_ids=[9, 3, 4, 3, 4, 5, 8, 6],
        policy_mask=[1, 1, 1, 0, 0, 0, 1, 1], turn_ids=[0, 0, 0, -1, -1, -1, 1, 1],
        logprobs=[0.0] * 8, positions=[0, 1, 2, 3, 4, 2, 3, 4, 5, 6],
        segments=[0, 0, 1, 1, 1, 0, 0, 0, 2, 2],
    )  # fmt: skip
    assert turns_of(packed, 0, [2, -2])[1].context == (1, 2, 3, 4, 5)
    failed = replace(
        plain, dialogue=dialogue(30, 40, failure=Failure("user", "x", "y"))
    )
    assert turns_of(failed, 0, [2]) == []


@given(st.integers(0, 500), st.integers(1, 40), st.sampled_from([None, 1, 2, 4]))
def test_every_arm_takes_as_many_turns(seed, count, most):
    rng = random.Random(seed)
    turns = [
        turn(row, k, rng.randint(-2, 2))
        for row in range(5)
        for k in range(rng.randint(1, 6))
    ]
    for arm in ("all", "random", "judged"):
        settings = HindsightSettings(select=arm, per_dialogue=most)
        chosen = select(turns, count, settings, random.Random(seed))
        assert len(chosen) == count and set(chosen) <= set(turns)
        if count <= len(turns):
            assert len(set(chosen)) == count


def test_judged_takes_the_largest_impacts_first_and_thins_a_dialogue():
    turns = [turn(r, k, i) for r in (0, 1) for k, i in enumerate((2, -2, 1, 0, None))]
    how = HindsightSettings(per_dialogue=None)
    chosen = select(turns, 4, how, random.Random(0))
    assert {abs(t.impact) for t in chosen} == {2}
    one_each = select(turns, 2, replace(how, per_dialogue=1), random.Random(0))
    assert {t.row for t in one_each} == {0, 1}
    good = select(turns, 4, replace(how, polarity="positive"), random.Random(0))
    assert [t.impact for t in good] == [2, 2, 1, 1]
    late = select(turns, 4, replace(how, first_turn=2), random.Random(0))
    assert all(t.turn >= 1 for t in late)
    # Too few pivotal ones: the next by impact, so that the count is that of all arms.
    strict = select(turns, 6, replace(how, threshold=2), random.Random(0))
    assert sorted(abs(t.impact) for t in strict) == [1, 1, 2, 2, 2, 2]
    # What is not known is not 0: taken last, and never pivotal.
    every = select(turns, 10, replace(how, threshold=0), random.Random(0))
    assert [t.impact for t in every[-2:]] == [None, None]
    assert not is_pivotal(every[-1], replace(how, threshold=0))


def test_all_comes_in_whole_dialogues():
    turns = [turn(r, k, 0) for r in range(4) for k in range(3)]
    chosen = select(turns, 6, HindsightSettings(select="all"), random.Random(3))
    assert len({t.row for t in chosen}) == 2
    with pytest.raises(ValueError, match="no turn"):
        select([], 1, HindsightSettings(), random.Random(0))


# -- ranks -----------------------------------------------------------------------------


def test_ties_share_their_mean_rank():
    assert mean_ranks([(2,), (0, 3), (1,)], 4) == (2.5, 4.0, 1.0, 2.5)
    assert mean_ranks([(0, 1, 2)], 3) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    "order, problem",
    [
        ([(0,), (1,)], "candidate 2 of a group of 3 is missing"),
        ([(0, 1), (1, 2)], "candidate 1 of a group of 3 is double"),
        ([(0,), (1,), (2,), (3,)], "candidate 3 of a group of 3 is out of range"),
    ],
)
def test_a_wrong_rank_list_is_a_typed_failure(order, problem):
    with pytest.raises(RoleFailure, match=problem) as caught:
        mean_ranks(order, 3)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE


def test_rank_maps():
    given_ = GroupFeedback((1.0, 2.5, 2.5, 4.0), (9.0, 5.0, 4.0, 1.0))
    assert rank_rewards(given_, "linear") == pytest.approx([1, 0.5, 0.5, 0])
    assert rank_rewards(given_, "centered") == pytest.approx([1, 0, 0, -1])
    assert rank_rewards(given_, "borda") == pytest.approx([3, 1.5, 1.5, 0])
    assert rank_rewards(given_, "scores") == [9.0, 5.0, 4.0, 1.0]
    with pytest.raises(ValueError, match="no scores"):
        rank_rewards(replace(given_, scores=None), "scores")
    failed = GroupFeedback(failure=RoleFailure("reward model", Outcome.REFUSED, "no"))
    with pytest.raises(ValueError, match="no ranks"):
        rank_rewards(failed, "linear")


def advantages(rewards, **how):
    values = torch.tensor(rewards, dtype=torch.float64).unsqueeze(1)
    n = len(rewards)
    given_ = Credit("outcome", **how)(
        values, torch.ones(n, 1).bool(), torch.zeros(n).long(), torch.zeros(n, 1).long()
    )
    return given_.advantages[:, 0].tolist()


@pytest.mark.parametrize(
    "group, how, expected",
    [
        (4, {"eps": 1e-4}, [1.1616, 0.3872, -0.3872, -1.1616]),
        (4, {"eps": 0.0, "ddof": 0}, [1.3416, 0.4472, -0.4472, -1.3416]),
        (8, {"eps": 1e-4}, [1.4285, 1.0203, 0.6122, 0.2041]),
    ],
)
def test_the_advantages_of_linear_ranks(group, how, expected):
    ranks = tuple(float(r) for r in range(1, group + 1))
    found = advantages(rank_rewards(GroupFeedback(ranks), "linear"), **how)
    assert found[: len(expected)] == pytest.approx(expected, abs=5e-5)
    assert sum(found) == pytest.approx(0, abs=1e-9)


@given(st.permutations(range(5)))
def test_ranks_without_ties_give_the_same_advantages_in_every_group(order):
    ranks = mean_ranks([(place,) for place in order], 5)
    found = advantages(rank_rewards(GroupFeedback(ranks), "linear"), eps=1e-4)
    fixed = advantages([1, 0.75, 0.5, 0.25, 0], eps=1e-4)
    assert sorted(found, reverse=True) == pytest.approx(fixed)


def test_a_group_that_ties_has_no_advantage_at_all():
    ranks = mean_ranks([(0, 1, 2, 3)], 4)
    assert advantages(rank_rewards(GroupFeedback(ranks), "linear")) == [0, 0, 0, 0]


# -- feedback --------------------------------------------------------------------------


class Judge:
    """Ranks replies by the number in them; keeps what it was shown."""

    def __init__(self, *fails):
        self.fails, self.shown, self.attempts = list(fails), [], []

    def compare(self, comparison, attempt):
        self.shown.append(comparison)
        self.attempts.append(attempt)
        fault = self.fails.pop(0) if self.fails else None
        if isinstance(fault, RoleFailure):
            raise fault
        values = [int(reply.split()[-1]) for reply in comparison.replies]
        order = sorted(range(len(values)), key=lambda i: -values[i])
        ties = [(i,) for i in order] if fault is None else fault
        return Verdict(
            tuple(ties), tuple(float(v) for v in values), "do more",
            tuple(f"note {v}" for v in values),
        )  # fmt: skip


def comparison(n=5):
    replies = tuple(f"reply {i}" for i in range(n))
    return Comparison(TALK, replies, tuple(Reaction(f"re {i}") for i in range(n)))


@given(st.integers(0, 300))
def test_a_group_is_shuffled_for_the_judge_and_put_back(seed):
    judge = Judge()
    found = ask(judge, comparison(), HindsightSettings(), random.Random(seed))
    assert found.ranks == (5, 4, 3, 2, 1) and found.scores == (0, 1, 2, 3, 4)
    assert found.notes == tuple(f"note {i}" for i in range(5))
    assert found.valid and found.asks == 1
    shown = judge.shown[0]
    pairs = zip(shown.replies, shown.reactions, strict=True)
    assert all(r.split()[1] == x.text.split()[1] for r, x in pairs)


def test_the_order_differs_between_groups():
    judge, rng = Judge(), random.Random(0)
    for _ in range(6):
        ask(judge, comparison(), HindsightSettings(), rng)
    assert len({shown.replies for shown in judge.shown}) > 1


def test_what_cannot_be_used_is_asked_again_twice_and_then_no_rank():
    broken = RoleFailure("reward model", Outcome.JUDGE_UNPARSEABLE, "no json")
    judge = Judge(broken, ((0,), (1,)))  # then a list that leaves candidates out
    found = ask(judge, comparison(), HindsightSettings(), random.Random(0))
    assert found.valid and found.asks == 3 and judge.attempts == [0, 1, 2]
    judge = Judge(broken, broken, broken)
    found = ask(judge, comparison(), HindsightSettings(), random.Random(0))
    assert not found.valid and found.failure is broken and found.asks == 3
    assert found.ranks == () and found.critique == ""
    judge = Judge(broken)
    once = ask(judge, comparison(), HindsightSettings(retries=0), random.Random(0))
    assert not once.valid and len(judge.shown) == 1
    with pytest.raises(ValueError, match="retries = 3"):
        HindsightSettings(retries=3)


def test_several_judgings_average_their_ranks():
    judge = Judge(None, ((0, 1, 2, 3, 4),))
    settings = HindsightSettings(judgings=2)
    found = ask(judge, comparison(), settings, random.Random(1))
    assert found.ranks == (4, 3.5, 3, 2.5, 2) and found.asks == 2
    assert judge.attempts == [0, 3]


def feedbacks():
    ranks = (1.0, 2.5, 2.5, 4.0)
    failure = RoleFailure("reward model", Outcome.REFUSED, "no")
    return [
        GroupFeedback(ranks, None, "A", ("a1", "a2", "a3", "a4")),
        GroupFeedback(failure=failure),
        GroupFeedback(ranks, None, "B"),
        GroupFeedback(ranks, None, ""),
        GroupFeedback(ranks, None, "C"),
    ]


def test_what_the_teachers_are_told():
    def told(**switches):
        settings = HindsightSettings(**switches)
        return lines_for_teacher(feedbacks(), settings, random.Random(0))

    assert told() == [["A"] * 4, [], ["B"] * 4, [""] * 4, ["C"] * 4]
    assert told(feedback="candidate")[0] == ["a1", "a2", "a3", "a4"]
    assert told(route="losers")[0] == ["", "", "", "A"]
    assert told(route="winners")[0] == ["A", "", "", ""]
    assert not any(any(lines) for lines in told(note="empty"))
    moved = told(note="shuffled")
    assert sorted(moved[i][0] for i in (0, 2, 4)) == ["A", "B", "C"]
    assert all(moved[i][0] != own for i, own in ((0, "A"), (2, "B"), (4, "C")))
    assert moved[1] == [] and moved[3] == [""] * 4


def test_one_critique_alone_has_no_other_group_to_come_from():
    settings = HindsightSettings(note="shuffled")
    lines = lines_for_teacher(feedbacks()[:2], settings, random.Random(0))
    assert lines == [[""] * 4, []]


def test_the_note_stands_where_the_lessons_had_it():
    chat = ChatFormat(tiny.make_tokenizer())
    note = critique_text([Act("name", "sad")], [Act("lecture")])
    line = "i keep crying"
    first = HindsightTurn("s", 1, 0, (Message("user", line),),
                          tuple(chat.opening("<direct>", line)), 2)  # fmt: skip
    told = plain_line(line, note, None)
    found = chat.tokenizer.decode(teacher_context(chat, "<direct>", first, told))
    wanted = f"<direct> <user> {line} {note} <end> <asst>"
    assert found == wanted
    earlier = [*first.context, 30, 31, chat.end_id]
    later = replace(
        first, history=(*TALK[:2], Message("user", line)),
        context=(*earlier, *chat.user_turn(line)),
    )  # fmt: skip
    found = list(teacher_context(chat, "<direct>", later, told))
    assert found[: len(earlier)] == earlier
    assert chat.tokenizer.decode(found[len(earlier) :]) == wanted[len("<direct> ") :]
    assert list(teacher_context(chat, "<direct>", later, line)) == list(later.context)
    reaction = Reaction("no not that")
    assert plain_line(line, note, reaction).startswith(f"{line} , no not that |")
    other = replace(later, history=(*TALK[:2], Message("user", "another line")))
    with pytest.raises(ValueError, match="does not end"):
        teacher_context(chat, "<direct>", other, told)


def test_every_open_choice_names_a_field_that_there_is():
    fields = HindsightSettings.__dataclass_fields__
    for number in range(1, 17):
        names, what = OPEN_CHOICES[f"A{number}"]
        assert what
        for name in names.split(", "):
            known = "." in name or name.startswith("none") or name in fields
            assert known, (number, name)


# -- the offline roles -----------------------------------------------------------------


def test_a_reaction_comes_from_the_dialogues_own_user():
    card = load_cards("tune")[0]
    user = ScriptedUser()
    session = user.start(card, 5)
    history = [Message("user", session.opening().text)]
    for reply in ("what happened then ?", "you should be stronger ."):
        history.append(Message("assistant", reply))
        feeling = session.feel(history)
        history.append(Message("user", session.say(history, None).text))
    found = react(user, card, 5, history[:3], "you should be stronger .")
    assert (found.text, found.emotion) == (history[4].content, feeling.emotion)
    assert found.change == feeling.change
    other = react(user, card, 5, history[:3], "i am listening .")
    assert other.emotion - other.change == found.emotion - found.change
    changed = [Message("user", "something else"), *history[1:3]]
    with pytest.raises(ValueError, match="repeated"):
        react(user, card, 5, changed, "i am listening .")


REPLIES = ("you must feel sad .", "time heals .", "i am listening . time heals .")


def scripted(changes, write=critique_text):
    reactions = None
    if changes is not None:
        reactions = tuple(Reaction("hmm", 30 + c, c) for c in changes)
    given_ = Comparison(TALK, REPLIES, reactions)
    return ScriptedRewardModel(write).compare(given_, 0)


def test_the_reward_model_by_rule_goes_by_reactions_where_it_has_them():
    found = scripted((5, -10, -10))
    assert found.order == ((0,), (1, 2)) and found.scores == (5.0, -10.0, -10.0)
    assert found.critique == "| better : name sad | worse : platitude"
    alone = scripted(None)
    assert alone.order[0] == (0,) and alone.order[1] == (2,) and alone.order[2] == (1,)
    tied = scripted((5, 5, 5))
    assert tied.order == ((0, 1, 2),) and tied.critique == ""
    with pytest.raises(RoleFailure):
        ScriptedRewardModel(critique_text).compare(
            Comparison(TALK, REPLIES, (Reaction("a"),) * 3), 0
        )


def test_a_note_for_one_candidate_blames_only_what_it_did():
    replies = ("you must feel sad .", "time heals .", "you must feel angry .")
    changes = Reaction("a", 35, 5), Reaction("b", 20, -10), Reaction("c", 20, -10)
    given_ = Comparison(TALK, replies, changes)
    notes = ScriptedRewardModel(critique_text).compare(given_, 0).notes
    assert notes[1] == "| better : name sad | worse : platitude"
    assert notes[0] == notes[2] == "| better : name sad"


def test_a_warning_has_the_form_of_the_lessons():
    """One harmful kind without a word: what follows "worse" must not be copied."""
    replies = ("i am listening .", "you could try to rest . time heals .")
    read = [read_clauses(r, "") for r in replies]
    assert contrast(read, [5.0, -10.0])[1] in ([Act("advise")], [Act("platitude")])
    own = [read_clauses(r, "") for r in ("maybe rest a little .", replies[1])]
    assert Act("advise") not in contrast(own, [5.0, -10.0])[1]  # only its word differs
    wrong = [read_clauses(r, "") for r in ("i am listening .", "you must feel sad .")]
    assert contrast(wrong, [5.0, -10.0])[1] == []


def test_the_critique_is_in_words_that_the_tiny_policy_knows():
    words = set(tiny.vocabulary())
    assert set(scripted((10, -5, -10)).critique.split()) <= words
    english = scripted((10, -5, -10), english_critique).critique
    assert english.startswith("What helps here: a reply that puts a feeling into words")


def test_an_act_is_credited_beside_the_mean_of_the_group():
    read = [read_clauses(r, "") for r in REPLIES]
    better, worse = contrast(read, [5.0, -10.0, 5.0])
    assert better == [Act("name", "sad"), Act("presence")]
    assert worse == [Act("platitude")]
