"""Rollouts: tokens in and out, masks, turn ids, packed thoughts, users by dialogue."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.scripted import ScriptedUser
from helpers.data.scenarios import load_cards
from helpers.learning import tiny
from helpers.learning.chat import ChatFormat
from helpers.learning.decoder import PrefixDecoder
from helpers.learning.engines import Sample
from helpers.learning.rollout import TalkSettings, roll_out
from helpers.learning.rows import attention
from helpers.sandbox.episode import Episode, RunSettings

CHAT = ChatFormat(tiny.make_tokenizer())
SETTINGS = RunSettings.rlver_training()
CARDS = load_cards("train")[:6]


def episodes(cards=CARDS, user=None):
    user = user or ScriptedUser(rules=SETTINGS.emotion)
    return [Episode(card, user, None, None, SETTINGS, 5) for card in cards]


class Scripted:
    """An engine that says given texts, one a turn; it notes what it was asked."""

    def __init__(self, say):
        self.say, self.asked = say, []
        self.turns = {}

    def generate(self, keys, contexts, limit):
        self.asked.append((list(keys), [list(c) for c in contexts]))
        out = []
        for key in keys:
            turn = self.turns[key] = self.turns.get(key, -1) + 1
            ids = CHAT.tokenizer.encode(self.say(key, turn))
            ids = [*ids, CHAT.end_id][:limit]
            out.append(Sample(ids, [-0.5] * len(ids)))
        return out


def text(ids):
    return CHAT.tokenizer.decode(ids)


def where(row, marks, want) -> str:
    """The text of the completion tokens whose mark is `want`."""
    pairs = zip(row.completion_ids, marks, strict=True)
    return text([token for token, mark in pairs if mark == want])


def direct(key, turn):
    return "that makes sense ." if key % 2 else "you must not complain ."


def test_masked_tokens_are_the_users_and_the_others_the_policys():
    rows = roll_out(episodes(), Scripted(direct), CHAT, TalkSettings("<direct>", 20))
    for key, row in enumerate(rows):
        assert row.segments is None
        turns = row.dialogue.turns
        assert where(row, row.policy_mask, 1) == " ".join(
            [f"{direct(key, 0)} <end>"] * len(turns)
        )
        lines = [f"<user> {t.user} <end> <asst>" for t in turns[1:]]
        assert where(row, row.policy_mask, 0) == " ".join(lines)
        assert text(row.prompt_ids) == f"<direct> <user> {turns[0].user} <end> <asst>"


def test_turn_ids_and_log_probs_stand_on_the_policys_tokens_only():
    rows = roll_out(episodes(), Scripted(direct), CHAT, TalkSettings("<direct>", 20))
    for row in rows:
        for k, mask in enumerate(row.policy_mask):
            assert (row.turn_ids[k] >= 0) == bool(mask)
            assert row.logprobs[k] == (-0.5 if mask else 0.0)
        assert set(row.turn_ids) - {-1} == set(range(len(row.dialogue.turns)))


def test_a_cut_reply_is_closed_and_the_closing_is_not_trained_on():
    rows = roll_out(episodes(), Scripted(direct), CHAT, TalkSettings("<direct>", 3))
    for row in rows:
        assert row.completion_ids[3] == CHAT.end_id
        assert list(row.policy_mask[:4]) == [1, 1, 1, 0]
        assert CHAT.end_id not in row.completion_ids[:3]


def reasoned(key, turn):
    return f"<think> sad name </think> {direct(key, turn)}"


def test_stripped_thoughts_are_seen_by_nobody_later():
    engine = Scripted(reasoned)
    rows = roll_out(episodes(), engine, CHAT, TalkSettings("<reason>", 20))
    for _, contexts in engine.asked:
        assert all("<think>" not in text(c) for c in contexts)
    for key, row in enumerate(rows):
        assert row.dialogue.turns[0].think == "sad name"
        assert row.dialogue.turns[0].reply == direct(key, 0)
        own = where(row, row.policy_mask, 1)
        assert own.count("<think> sad name </think>") == len(row.dialogue.turns)
        start = len(row.prompt_ids)
        assert "<think>" not in where(row, row.segments[start:], 0)


def test_kept_thoughts_stay_and_the_row_is_plain():
    engine = Scripted(reasoned)
    talk = TalkSettings("<reason>", 20, history="kept")
    rows = roll_out(episodes(), engine, CHAT, talk)
    assert all(row.segments is None for row in rows)
    last = engine.asked[-1][1][0]
    assert text(last).count("<think>") == len(engine.asked) - 1


@pytest.mark.parametrize("system", [tiny.DIRECT, tiny.REASON])
def test_packed_rows_give_the_log_probs_of_sampling(system):
    torch.manual_seed(3)
    model = tiny.make_model(len(tiny.vocabulary()), hidden=32, layers=2).eval()

    class Thinking(PrefixDecoder):
        """Thoughts for sure: the untrained model seldom closes one."""

        def generate(self, keys, contexts, limit):
            close = CHAT.tokenizer.convert_tokens_to_ids("</think>")
            samples = super().generate(keys, contexts, limit)
            if system == tiny.DIRECT:
                return samples
            self._ids = [[] for _ in keys]
            made = []
            for context, sample in zip(contexts, samples, strict=True):
                ids = [i for i in sample.ids if i not in (close, CHAT.end_id)]
                ids = [*ids[:2], close, *ids[2:], CHAT.end_id]
                with torch.no_grad():
                    logits = model(torch.tensor([[*context, *ids]])).logits[0]
                logprobs = logits.log_softmax(-1)[len(context) - 1 : -1]
                each = logprobs[range(len(ids)), ids].tolist()
                made.append(Sample(ids, each))
            return made

    rows = roll_out(
        episodes(), Thinking(model, CHAT.end_id), CHAT, TalkSettings(system, 9)
    )
    for row in rows:
        ids = torch.tensor([[*row.prompt_ids, *row.completion_ids]])
        more = {}
        if row.segments is not None:
            segments = torch.tensor([row.segments])
            seen = attention(segments, torch.ones_like(segments))
            more["attention_mask"] = torch.where(seen, 0.0, float("-inf"))
            more["position_ids"] = torch.tensor([row.positions])
        with torch.no_grad():
            logprobs = model(ids, **more).logits[0].log_softmax(-1)
        start = len(row.prompt_ids) - 1
        for k, token in enumerate(row.completion_ids):
            if row.policy_mask[k]:
                want = logprobs[start + k, token].item()
                assert row.logprobs[k] == pytest.approx(want, abs=2e-5)
    if system == tiny.REASON:
        assert all(row.segments is not None for row in rows)


def test_dialogues_that_end_early_do_not_move_the_others():
    """Each dialogue alone gives the same record as in a batch."""

    def say(key, turn):  # dialogues 0, 2, 4 collapse soon, the others go on
        return "you must not complain ." if key % 2 == 0 else "that makes sense ."

    talk = TalkSettings("<direct>", 20)
    together = roll_out(episodes(), Scripted(say), CHAT, talk)
    lengths = {len(row.dialogue.turns) for row in together}
    assert len(lengths) > 1
    for key, card in enumerate(CARDS):
        alone = roll_out(
            episodes([card]),
            Scripted(lambda _, turn, key=key: say(key, turn)),
            CHAT,
            talk,
        )
        one, many = alone[0].dialogue, together[key].dialogue
        assert one.turns == many.turns and one.ending == many.ending


class Failing:
    """A user that fails at its second line."""

    def describe(self):
        return {}

    def start(self, scenario, seed):
        session = ScriptedUser(rules=SETTINGS.emotion).start(scenario, seed)

        def fail(history, guidance):
            raise RoleFailure("user", Outcome.API_ERROR, "no answer")

        session.say = fail
        return session


def test_a_failed_user_gives_a_failed_dialogue_and_a_whole_row():
    rows = roll_out(
        episodes(user=Failing()), Scripted(direct), CHAT, TalkSettings("<direct>", 20)
    )
    for row in rows:
        assert row.dialogue.ending == "error" and row.dialogue.final_emotion is None
        assert len(row.completion_ids) == len(row.policy_mask) == len(row.turn_ids)


def test_users_behind_an_api_are_asked_at_once(monkeypatch):
    seen = []
    real = ThreadPoolExecutor.map

    def spy(self, *arguments):
        seen.append(self._max_workers)
        return real(self, *arguments)

    monkeypatch.setattr(ThreadPoolExecutor, "map", spy)
    talk = TalkSettings("<direct>", 20, together=4)
    at_once = roll_out(episodes(), Scripted(direct), CHAT, talk)
    one = roll_out(episodes(), Scripted(direct), CHAT, TalkSettings("<direct>", 20))
    assert set(seen) == {4}
    assert [r.dialogue.turns for r in at_once] == [r.dialogue.turns for r in one]


@pytest.mark.parametrize("wrong", [{"history": "lost"}, {"reply_limit": 1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError):
        TalkSettings(**{"system": "<direct>", "reply_limit": 9, **wrong})
