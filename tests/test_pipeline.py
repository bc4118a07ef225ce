"""Real-to-Sim offline: the promises of the pipeline on the kit's raw dialogues."""

import json
import socket
import time
from collections import Counter

import numpy as np
import pytest

from helpers.agents.policies import Heuristic
from helpers.agents.scripted import ScriptedDirector, ScriptedJudge, ScriptedUser
from helpers.data import checks, names, raw, sampling
from helpers.data.marking import Features
from helpers.data.personal import find_personal, redact
from helpers.data.pipeline import REASONS, STAGES, clean, run_pipeline
from helpers.data.pipeline_scripted import ScriptedPipeline
from helpers.data.refining import Bench, Source
from helpers.data.scenarios import load_cards, validate
from helpers.data.truth import PARTS, first_look, read_truth
from helpers.reporting import pipeline_figures, pipeline_quality
from helpers.sandbox.episode import RunSettings, run_one

PATHS = [raw.RAW / name for name in raw.FILES]


def run(folder, seed=0):
    return run_pipeline(PATHS, folder, ScriptedPipeline(), seed=seed, test_size=15)


@pytest.fixture(scope="module")
def dialogues():
    lines = [line for path in PATHS for line in raw.read_raw(path)]
    assert all(line.reason is None for line in lines)
    return {line.dialogue_id: line.dialogue for line in lines}


@pytest.fixture(scope="module")
def truth():
    return read_truth()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A whole offline run without any network: (folder, result, seconds)."""
    folder = tmp_path_factory.mktemp("pipeline")

    def no_network(*args, **kwargs):
        raise AssertionError("the offline pipeline asked for the network")

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", no_network)
    started = time.monotonic()
    result = run(folder)
    seconds = time.monotonic() - started
    patch.undo()
    return folder, result, seconds


def test_the_planted_truth_fits_the_dialogues(dialogues, truth):
    assert set(dialogues) == set(truth) and len(truth) >= 60
    kinds = Counter(t.kind for t in truth.values())
    assert kinds["none"] >= len(truth) / 3 and kinds["crisis"] >= 5
    assert {d.language for d in dialogues.values()} == {"en", "zh"}
    assert {t.part for t in truth.values()} == set(PARTS)
    for ident, one in truth.items():
        turns = dialogues[ident].turns
        for piece in one.personal:
            assert turns[piece.turn].text[piece.start : piece.end] == piece.text
        assert all(0 <= i < len(turns) for i in one.turns)
        assert one.duplicate_of is None or one.duplicate_of in truth


def test_offline_run_under_a_minute(made):
    assert made[2] < 60


def test_same_seed_same_bytes_other_seed_other_cards(made, tmp_path):
    folder, result, _ = made
    run(tmp_path / "again")
    for name in (*(f"{stage}.jsonl" for stage in STAGES), "cards.jsonl"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    other = run(tmp_path / "other", seed=1)
    assert [c.id for c in other.cards] == [c.id for c in result.cards]
    assert all(a != b for a, b in zip(other.cards, result.cards, strict=True))


def test_every_item_has_an_outcome_and_every_loss_a_known_reason(made, dialogues):
    _, result, _ = made
    first, second, third = result.stages
    assert len(first) == len(dialogues)
    assert set(second) == {k for k, r in first.items() if r["outcome"] == "kept"}
    assert set(third) == set(second)
    for number, records in enumerate(result.stages, 1):
        for record in records.values():
            if record["outcome"] != "kept":
                assert record["reason"] in REASONS[number] and record["detail"]
    table = pipeline_figures.funnel_table(result.stages)
    for stage, part in table.groupby("stage"):
        n = part.set_index("what")["n"]
        assert n["in"] == n.drop("in").sum(), stage


def test_crisis_is_refused_with_note_and_help_and_never_a_card(made, truth):
    folder, result, _ = made
    rows = [json.loads(x) for x in (folder / "refused.jsonl").read_text().splitlines()]
    crisis = {ident for ident, t in truth.items() if t.kind == "crisis"}
    assert {row["id"] for row in rows} == crisis
    assert all(row["note"] and "crisis line" in row["help"] for row in rows)
    assert not {card.id for card in result.cards} & {f"sim-{i}" for i in crisis}
    assert not any("turns" in r for r in result.stages[0].values() if r["id"] in crisis)


def test_figures_of_speech_are_no_crisis(made):
    record = next(r for r in made[1].stages[0].values() if r["id"] == "en-055")
    assert record["reason"] == "no_need"


def test_recall_of_personal_data(made, dialogues, truth):
    records = made[1].stages[0].values()
    planted, removed = pipeline_quality.personal_rows(records, dialogues, truth)
    assert len(planted) == sum(len(t.personal) for t in truth.values())
    assert planted["gone"].mean() >= 0.98
    hard = planted[planted["kind"].isin(["phone", "email", "id"])]
    assert len(hard) >= 60 and hard["gone"].all()
    assert removed["right"].mean() > 0.9
    # What is kept between the stages holds no planted e-mail, phone or id either.
    for record in records:
        text = json.dumps(record.get("turns", []), ensure_ascii=False)
        for piece in truth[record["id"]].personal:
            if piece.kind in ("phone", "email", "id", "address"):
                assert piece.text not in text, record["id"]


def test_marking_beats_two_named_baselines_on_unseen_dialogues(made, dialogues, truth):
    counts = pipeline_quality.marking_counts(
        made[1].stages[0].values(), dialogues, truth
    )
    unseen = counts[counts["part"] != "dev"]
    table = pipeline_quality.marking_table(unseen, 2000, np.random.default_rng(0), 0.95)
    table = table.set_index("method")
    assert table.loc["cue rules", "dialogues"] >= 40
    for baseline in ("every turn", "a feeling word"):
        assert table.loc[baseline, "lead low"] > 0, table
    assert not table.loc["long messages", ["lead low", "lead high"]].isna().any()


def test_the_first_looks_stay_on_record():
    looks = first_look()
    assert set(looks["measure"]) >= {"personal data: recall"}
    assert (looks["value"] < 0.98).all(), "the record of the first looks was changed"


def test_no_card_shares_eight_words_or_a_name_with_its_source(made, dialogues):
    for card in made[1].cards:
        source = dialogues[card.id.removeprefix("sim-")]
        texts = [turn.text for turn in source.turns]
        assert checks.shared_run(card, texts) is None
        spans = find_personal(source)
        values = [texts[s.turn][s.start : s.end] for s in spans]
        assert not checks.personal_value(card, values), card.id


def test_cards_are_complete_and_distinct(made):
    cards = made[1].cards
    assert len(cards) >= 35
    assert not [problem for card in cards for problem in validate(card)]
    assert all(card.levels and len(card.story_phases) == 4 for card in cards)
    runs = [checks.card_runs(card) for card in cards]
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[:i]]
    assert not any(checks.same_card(a, b) for a, b in pairs)


def test_reposts_are_found(made, truth):
    by_id = {r["id"]: r for r in made[1].stages[2].values()}
    for ident, one in truth.items():
        if one.duplicate_of:
            assert by_id[ident]["reason"] == "near_duplicate", ident
            assert one.duplicate_of in by_id[ident]["detail"]


def test_cards_load_in_the_scripted_users_unchanged(made):
    folder, result, _ = made
    cards = load_cards(folder / "cards.jsonl")
    assert tuple(cards) == result.cards
    for card in cards:
        talk = run_one(
            card,
            Heuristic(),
            ScriptedUser(),
            ScriptedJudge(),
            ScriptedDirector(),
            RunSettings.laptop(),
            0,
        )
        assert talk.failure is None and talk.turns, card.id


def test_the_test_set_follows_the_official_margins_where_the_pool_allows(made):
    _, result, _ = made
    table = sampling.margins(result.cards, result.test_ids)
    assert len(result.test_ids) == 15
    for _, row in table.iterrows():
        if row["all cards"] > row["wanted"] + 2 and row["stratum"] != "Easy":
            assert abs(row["test set"] - row["wanted"]) <= 1, row
    for name, part in table.groupby("margin"):
        assert part["test set"].sum() == 15, name


def test_sampling_reaches_the_official_strata_from_a_rich_pool():
    pool = load_cards("train")
    ids = sampling.stratified(pool, 30, seed=0)
    table = sampling.margins(pool, ids)
    assert (table["test set"] - table["wanted"]).abs().max() <= 1, table
    assert ids == sampling.stratified(list(reversed(pool)), 30, seed=0)
    with pytest.raises(ValueError, match="take fewer"):
        sampling.stratified(pool[:3], 4, seed=0)


# --- the checks of stage 3 reject what they should


def judged(made, change, source=None):
    """The first card after `change(its JSON)`, judged against its own features."""
    _, result, _ = made
    key, record = next(
        (k, r) for k, r in result.stages[0].items() if r["outcome"] == "kept"
    )
    card = json.loads(json.dumps(result.stages[1][key]["card"]))
    change(card)
    features = Features.from_json(record["features"])
    backend = ScriptedPipeline()
    bench = Bench(backend.rate)
    return bench.judge({"card": card}, source or Source(features, (), (), ""))


def test_a_good_card_passes(made):
    card, reason, _ = judged(made, lambda card: None)
    assert card is not None and reason == ""


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("language", "fr", "schema"),
        ("opening", None, "contradiction"),
        ("category", "leisure", "contradiction"),
    ],
)
def test_bad_fields_are_rejected(made, field, value, reason):
    card, got, detail = judged(made, lambda card: card.update({field: value}))
    assert (card, got) == (None, reason) and detail


def test_contradictions_with_itself_and_the_source(made):
    def young(card):
        card["persona"].update(age=30, occupation="retired nurse")

    def other_feeling(card):
        card["hidden"].update(event="forgotten")

    for change in (young, other_feeling):
        _, reason, detail = judged(made, change)
        assert reason == "contradiction" and ("30" in detail or "source" in detail)


def test_copied_wording_and_personal_data_are_rejected(made):
    features = Features.from_json(
        next(r for r in made[1].stages[0].values() if r["outcome"] == "kept")[
            "features"
        ]
    )
    line = "today my boss read every line of it out to them all"
    source = Source(features, (line,), ("Trevor Oakes",), "")

    def copied(card):
        card["opening"] = "Well, " + line.upper()

    def seven(card):
        card["opening"] = "My boss read every line of it and left."

    def named(card):
        card["opening"] = "It was trevor  oakes again."

    assert judged(made, copied, source)[1] == "leakage"
    assert judged(made, seven, source)[1] == ""
    assert judged(made, named, source)[1] == "personal_data"


def test_chinese_counts_characters_as_words():
    assert checks.words("我很好 ok") == ["我", "很", "好", "ok"]
    assert checks.same_story("我真的不知道该怎么办才好", "我真的不知道该怎么办")
    assert not checks.same_story("我很好", "明天去爬山吧我们")


# --- personal data on new texts


def chat(text, language="en", seeker="Ottoline Grey", helper="Sam"):
    return raw.RawDialogue(
        schema_version=1,
        id="x",
        language=language,
        participants={"seeker": seeker, "helper": helper},
        turns=[{"role": "seeker", "text": text}],
    )


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("write to o.grey+x@mail.example.co.uk please", "o.grey+x@mail.example.co.uk"),
        ("my cell is (202) 555-0175 ok", "202) 555-0175"),
        ("ring +49 30 23125 012 tonight", "23125 012"),
        ("card 4111 1111 1111 1111 was used", "4111"),
        ("it comes from 192.168.20.7 i think", "192.168.20.7"),
        ("policy number is QX-4471-20", "QX-4471-20"),
        ("we moved to 28 Hazelnut Grove", "28 Hazelnut Grove"),
        ("ottoline said so, and Theodora too", "ottoline"),
        ("so Theodora came. theodora always comes", "theodora"),
    ],
)
def test_personal_data_in_new_sentences(text, gone):
    one = chat(text)
    assert gone.lower() not in redact(text, find_personal(one)).lower()


def test_ordinary_talk_keeps_its_words():
    text = "i made 3 cakes on Monday, 200 g of sugar, and i slept till 10"
    assert redact(text, find_personal(chat(text))) == text


def test_text_is_cleaned_but_not_rewritten():
    assert clean("  nooooooo\x00 way\u200b!!  ok ") == "noo way !! ok"


def test_empty_name_lists_and_silence():
    assert find_personal(chat("   ")) == []
    assert "zoran" in names.first_names() and "because" in names.ordinary_words()
