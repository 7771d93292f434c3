"""Tasks on pairs of strings: examples, parts, batches, the figure, answers."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.train.data import DataError
from tinytensor.train.tasks.pairs.addition import AdditionTask
from tinytensor.train.tasks.pairs.dates import FIRST, FORMS, LAST, DatesTask, ordinal, written
from tinytensor.train.tasks.pairs.pairs import ANSWERED, END, PAD, START, Example, Pairs
from tinytensor.train.tasks.pairs.reverse import ReverseTask
from tinytensor.train.tasks.parts import PARTS, part_of

KINDS: list[type[Pairs]] = [DatesTask, AdditionTask, ReverseTask]
NO_SETTINGS: Any = None
#: of the first examples
PINNED = {
    "dates": "de0a807197215081",
    "addition": "81316735cb07101a",
    "reverse": "d8b5829b55816879",
}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name, scope="module")
def task(request: pytest.FixtureRequest) -> Pairs:
    made: Pairs = request.param(NO_SETTINGS)
    return made


@pytest.fixture(scope="module")
def drawn(task: Pairs) -> dict[str, list[Example]]:
    return {part: task.examples(part) for part in PARTS}


@pytest.fixture
def few(task: Pairs, monkeypatch: pytest.MonkeyPatch) -> type[Pairs]:
    """The kind of task, with few examples."""
    monkeypatch.setattr(type(task), "counts", {"train": 900, "val": 60, "test": 90})
    return type(task)


class Oracle:
    """Stands in for a model: translates by a rule, and notes what it was asked."""

    def __init__(self, task: Pairs, rule: Any):
        self.task, self.rule, self.asked = task, rule, []

    def translate(self, source: Any, beam: int = 1, max_new_tokens: Any = None) -> list[list[int]]:
        assert source.dtype == np.int64 and 0 < len(source) <= ANSWERED
        texts = [self.task.text(row[row != PAD]) for row in source]
        self.asked += [(text, beam) for text in texts]
        return [self.task.encode(self.rule(text))[:max_new_tokens] for text in texts]


# ---- dates ---------------------------------------------------------------------------------------

DAYS = st.dates(FIRST, LAST)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()


def parsed(text: str) -> datetime.date:
    """A date by rules of its own: no form is looked up."""
    words = re.findall("[a-z]+|[0-9]+", text.lower())
    names = [w for w in words if w[:3] in MONTHS]
    numbers = [int(w) for w in words if w.isdigit()]
    if names:
        (year,) = [n for n in numbers if n > 31]
        (day,) = [n for n in numbers if n <= 31]
        found = datetime.date(year, MONTHS.index(names[0][:3]) + 1, day)
    else:
        found = datetime.date(*(numbers if numbers[0] > 31 else numbers[::-1]))
    for word in words:
        if word.endswith("day") or word in WEEKDAYS:
            assert WEEKDAYS.index(word[:3]) == found.weekday(), text
    return found


@given(DAYS, st.sampled_from(FORMS), st.booleans(), st.sampled_from([str, str.upper, str.lower]))
@settings(max_examples=300)
def test_every_form_tells_its_day(day: datetime.date, form: str, short: bool, case: Any) -> None:
    text = case(written(day, form, short))
    assert parsed(text) == day
    assert len(text) <= DatesTask.longest[0] and set(text) <= set(DatesTask.characters)


def test_forms_of_one_day_by_hand() -> None:
    day = datetime.date(1998, 5, 3)
    texts = [written(day, form) for form in FORMS]
    assert len(set(texts)) == len(FORMS) == 22
    for text in (
        "3 May 1998", "May 3rd, 1998", "03.05.1998", "Sunday, 3 May 1998", "1998/05/03",
        "the 3rd of May, 1998", "1998 May 3", "3-May-1998", "May the 3rd, 1998",
    ):  # fmt: skip
        assert text in texts
    assert written(datetime.date(2001, 9, 12), "{weekday} {th} {month}", True) == "Wed 12th Sep"


def test_ordinals() -> None:
    found = [ordinal(n) for n in (1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 23, 24, 30, 31)]
    assert found == "1st 2nd 3rd 4th 10th 11th 12th 13th 21st 22nd 23rd 24th 30th 31st".split()


def test_the_longest_date_is_one() -> None:
    days = [FIRST + datetime.timedelta(i) for i in range(366 * 8)]
    assert max(len(written(day, form)) for day in days for form in FORMS) == DatesTask.longest[0]


# ---- the right answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_examples_are_right_and_all_of_one_part(
    task: Pairs, drawn: dict[str, list[Example]], part: str
) -> None:
    examples = drawn[part]
    assert len({example.source for example in examples}) == task.counts[part] == len(examples)
    contents = set()
    for content, source, target in examples:
        assert 0 < len(source) <= task.longest[0] and 0 < len(target) <= task.longest[1]
        assert part_of(content) == part
        if isinstance(task, DatesTask):
            key = parsed(source).isoformat()
            assert target == key
        elif isinstance(task, AdditionTask):
            a, b = map(int, source.split("+"))
            assert target == str(a + b) and f"{a}+{b}" == source, "no zeros in front"
            key = f"{min(a, b)}+{max(a, b)}"
        else:
            key = source
            assert target == "".join(reversed(source))
        assert content == key, "the part is settled by what the example is about"
        contents.add(key)
    assert len(contents) > 0.7 * len(examples)


def test_no_content_is_in_two_parts(drawn: dict[str, list[Example]]) -> None:
    contents = {part: {example.content for example in drawn[part]} for part in PARTS}
    assert not contents["train"] & (contents["val"] | contents["test"])
    assert not contents["val"] & contents["test"]


def test_a_part_is_settled_for_ever() -> None:
    """A checkpoint of today must not have been trained on what is the test of tomorrow."""
    days = ("1998-05-03", "1998-05-19", "1998-05-06")
    assert tuple(part_of(day) for day in days) == PARTS
    share = np.mean([part_of(str(n)) == "test" for n in range(10_000)])
    assert share == pytest.approx(0.1, abs=0.01)


def test_examples_are_the_same_whatever_was_drawn_before(few: type[Pairs]) -> None:
    one, other = few(NO_SETTINGS), few(NO_SETTINGS)
    assert one.fingerprint == PINNED[one.name], "what a checkpoint remembers of its data"
    tt.random.manual_seed(5)
    states = tt.random.state()
    assert other.fingerprint == one.fingerprint
    np.testing.assert_array_equal(other.test.sources, one.test.sources)
    assert tt.random.state() == states, "the examples draw from none of the run's generators"


def test_all_forms_and_lengths_are_there() -> None:
    digits = [len(x.source.split("+")[0]) for x in AdditionTask(NO_SETTINGS).examples("train")]
    assert min(np.bincount(digits)[1:]) > 5_000
    tested = [len(x.source) for x in AdditionTask(NO_SETTINGS).examples("test")]
    assert np.mean(np.array(tested) == 9) == pytest.approx(0.81, abs=0.03), "evenly, to 9999"
    lengths = [len(x.source) for x in ReverseTask(NO_SETTINGS).examples("test")]
    assert set(lengths) == set(range(1, 13))
    shapes = {re.sub("[A-Za-z]+", "a", re.sub("[0-9]+", "0", x.source))
              for x in DatesTask(NO_SETTINGS).examples("test")}  # fmt: skip
    assert {"a, 0 a 0", "0.0.0", "0/0/0", "a 0a, 0", "0, a 0a", "a 0a a a, 0"} <= shapes


# ---- batches -------------------------------------------------------------------------------------


def test_a_batch_by_hand() -> None:
    task = AdditionTask(NO_SETTINGS)
    part, examples = task.test, task.examples("test")
    rows = np.argsort(part.target_lengths, kind="stable")[[0, -1]]
    source, given, targets = task._batch(part, rows)
    for i, row in enumerate(rows):
        text = examples[row]
        ids, answer = task.encode(text.source), task.encode(text.target)
        n, m = len(ids), len(answer)
        assert source[i].tolist() == ids + [PAD] * (source.shape[1] - n)
        assert given[i].tolist() == [START, *answer] + [PAD] * (given.shape[1] - m - 1)
        assert targets[i].tolist() == [*answer, END] + [-100] * (targets.shape[1] - m - 1)
    assert given.shape == targets.shape == (2, 6)
    assert {array.dtype for array in (source, given, targets)} == {np.dtype(np.int64)}


def test_batches_follow_the_generator_of_data_alone(few: type[Pairs]) -> None:
    task, fresh = few(NO_SETTINGS), few(NO_SETTINGS)
    tt.random.manual_seed(3)
    first = [task.batch(16) for _ in range(3)]
    tt.random.manual_seed(3)
    tt.random.generator("sample").random(5)
    again = [fresh.batch(16) for _ in range(2)]
    state = tt.random.state()
    again.append(few(NO_SETTINGS).batch(16))
    for one, other in zip(first, again):
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)
    tt.random.set_state(state)
    np.testing.assert_array_equal(fresh.batch(16)[0], first[2][0])


def test_batches_hold_examples_of_about_the_same_length(task: Pairs) -> None:
    tt.random.manual_seed(1)
    padding, all_lengths = [], []
    for _ in range(200):
        source, given, targets = task.batch(32)
        assert len(source) == len(given) == len(targets) == 32
        assert (source[:, -1] != PAD).any() and (targets[:, -1] != -100).any(), "nothing to spare"
        np.testing.assert_array_equal(targets == -100, given == PAD)
        padding.append((source == PAD).mean())
        all_lengths.append((source != PAD).sum(1))
    assert np.mean(padding) < 0.12
    got, want = np.concatenate(all_lengths), task.train.source_lengths
    assert got.mean() == pytest.approx(want.mean(), rel=0.03), "each example as often"
    assert got.std() == pytest.approx(want.std(), rel=0.1)


def test_validation_is_all_of_it_each_example_once(
    task: Pairs, drawn: dict[str, list[Example]]
) -> None:
    whole = list(task.blocks(64))
    assert len(whole) == task.batches(64) == -(-task.counts["val"] // 64)
    sources = {task.text(row[row != PAD]) for batch in whole for row in batch[0]}
    assert sources == {example.source for example in drawn["val"]}
    some = list(task.blocks(64, limit=5))
    assert len(some) == 5
    starts = [batch[0].tobytes() for batch in whole]
    places = [starts.index(batch[0].tobytes()) for batch in some]
    assert places == sorted(set(places)) and places[0] < 3 and places[-1] > 12


# ---- the figure and answers ----------------------------------------------------------------------


def test_the_figure_is_the_share_of_answers_right_in_every_character() -> None:
    task = ReverseTask(NO_SETTINGS)
    right = Oracle(task, lambda text: text[::-1])
    score = task.score(right)
    assert score is not None and (score.value, score.right, score.count) == (1.0, 2000, 2000)
    assert "strings that the run never saw" in str(score)
    asked = [text for text, _ in right.asked]
    assert sorted(asked) == sorted(example.source for example in task.examples("test"))
    a_less = Oracle(task, lambda text: text[::-1].replace("a", ""))
    score = task.score(a_less)
    assert score is not None and score.right == sum("a" not in text for text in asked)
    assert score.value == score.right / 2000
    no_end = Oracle(task, lambda text: text[::-1] + "z")
    score = task.score(no_end)
    assert score is not None and score.right == 0, "too long is wrong, too"
    assert task.score(right, stop=True) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_refused(kind: type[Pairs]) -> None:
    with pytest.raises(DataError, match=f"^text: task {kind.name} makes its own examples"):
        kind(NO_SETTINGS, text="what is not going to be read")


def test_answers() -> None:
    task = AdditionTask(NO_SETTINGS)
    model = Oracle(task, lambda text: str(sum(map(int, text.split("+")))))
    assert task.answer(model, "1234+567") == "1801"
    assert task.answer(model, " 12 + 5\n", beam=3) == "17"
    assert model.asked[-1] == ("12+5", 3)
    lines = task.show(model, 1).splitlines()
    assert len(lines) == 6 and not any("wrong" in line for line in lines)
    assert task.show(model, 1) == task.show(model, 1) != task.show(model, 2)
    wrong = task.show(Oracle(task, lambda text: "12"), 1).splitlines()
    assert all(re.fullmatch(r"\d+\+\d+ +12    wrong: it is \d+", line) for line in wrong)
    dates = DatesTask(NO_SETTINGS)
    assert dates.answer(Oracle(dates, lambda text: text), " 3  May\t1998 ") == "3 May 1998"[:11]


@pytest.mark.parametrize(
    ("kind", "text", "match"),
    [
        (DatesTask, "", r"input: expected 1 to 36 characters, such as 3 May 1998, got 0"),
        (DatesTask, "m" * 37, r"input: expected 1 to 36 characters, .*got 37"),
        (DatesTask, "3 Ärz 1998", r"input: 'Ä' was in no example of task dates, only ' ,-./0"),
        (
            AdditionTask,
            "12345+1",
            r"input: expected two numbers of up to 4 digits, without zeros in front, such as 1234",
        ),
        (AdditionTask, "12", r"input: expected two numbers of up to 4 digits.*got '12'"),
        (AdditionTask, "1+2+3", r"input: expected two numbers of up to 4 digits"),
        (AdditionTask, "01+2", r"input: expected two numbers of up to 4 digits"),
        (ReverseTask, "Stressed", r"input: 'S' was in no example of task reverse"),
        (
            ReverseTask,
            "abcdefghijklm",
            r"input: expected 1 to 12 characters, such as stressed, got 13",
        ),
    ],
)
def test_inputs_that_cannot_be(kind: Any, text: str, match: str) -> None:
    task = kind(NO_SETTINGS)
    with pytest.raises(DataError, match=match):
        task.answer(Oracle(task, str), text)


def test_the_vocabulary_is_all_that_answering_needs(task: Pairs) -> None:
    import json

    kept = json.loads(json.dumps(task.vocabulary))
    restored = type(task)(NO_SETTINGS, kept)
    text = task.asked
    assert restored.encode(text) == task.encode(text)
    assert restored.text(restored.encode(text)) == text
    assert restored.text([PAD, END, *restored.encode(text[:1])]) == "\ufffd\ufffd" + text[0]
    restored.refuse_other(task, "")
    other = type(task)(NO_SETTINGS, kept[::-1])
    with pytest.raises(DataError, match="the vocabulary is not that of the checkpoint"):
        other.refuse_other(task, "")
    sizes = task.sizes()
    assert sizes["vocab_size"] == len(kept) + 3
    assert sizes["block_size"] >= max(task.longest[0], task.longest[1] + 1)
    for bad in ("", "aa", ["a"], 3, {}):
        with pytest.raises(ValueError, match="vocabulary: expected a string of different charac"):
            type(task)(NO_SETTINGS, bad)
    with pytest.raises(DataError, match="vocabulary: the data have '.', which is not in it"):
        type(task)(NO_SETTINGS, kept[:-1]).train  # noqa: B018


def test_what_a_task_says_of_itself(task: Pairs) -> None:
    assert task.describe().startswith(f"{task.counts['train']:,} {task.things} to learn from")
    assert 8 < task.length < 40
    assert task.baseline == pytest.approx(np.log(len(task.vocabulary) + 3))
    assert task.asked == task.read(task.asked) and task.example == ("--input", task.asked)
    assert task.usual_sizes == task.sizes() and set(task.least) == set(task.sizes())
