"""Text, tokenizer and blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.train import CharTokenizer, DataError, TokenStream, default_corpus, load_text
from tinytensor.train.data import fingerprint, spread

ANY = st.text(st.characters(exclude_categories=()))  # surrogates and unassigned code points too


@given(ANY, ANY)
def test_any_text_comes_back(text: str, more: str) -> None:
    tokenizer = CharTokenizer.from_text(text + more + "a")
    ids = tokenizer.encode(text)
    assert ids.dtype == np.int32 and ids.shape == (len(text),)
    assert tokenizer.decode(ids) == text
    assert tokenizer.symbols == "".join(sorted(set(text + more + "a")))
    assert [tokenizer.symbols[i] for i in ids] == list(text)


@given(ANY, ANY)
def test_unknown_characters_are_named_or_replaced(known: str, text: str) -> None:
    tokenizer = CharTokenizer.from_text(known + "?")
    strange = set(text) - set(tokenizer.symbols)
    if strange:
        with pytest.raises(DataError) as error:
            tokenizer.encode(text)
        assert repr(min(strange)) in str(error.value)
    replaced = "".join("?" if c in strange else c for c in text)
    assert tokenizer.decode(tokenizer.encode(text, unknown="?")) == replaced
    dropped = "".join(c for c in text if c not in strange)
    assert tokenizer.decode(tokenizer.encode(text, unknown="")) == dropped


def test_the_error_names_characters_and_code_points() -> None:
    tokenizer = CharTokenizer("abc")
    with pytest.raises(DataError, match=r"not among the 3 known characters: 'x' \(U\+0078\), 'é'"):
        tokenizer.encode("axé")
    with pytest.raises(DataError, match="and 12 more"):
        tokenizer.encode("0123456789ABCDEFGHIJ")
    with pytest.raises(DataError, match="unknown: expected one known character"):
        tokenizer.encode("x", unknown="y")


def test_ids_outside_the_vocabulary_are_refused() -> None:
    tokenizer = CharTokenizer("abc")
    for ids in ([0, 3], [-1]):
        with pytest.raises(IndexError, match="outside the vocabulary of 3"):
            tokenizer.decode(ids)
    assert tokenizer.decode([]) == ""
    assert CharTokenizer("cab") == tokenizer and CharTokenizer("abd") != tokenizer


def test_a_split_has_as_many_windows_as_it_should() -> None:
    """Case C41: L ids have L - B blocks, at starts 0 .. L - B - 1."""
    stream = TokenStream(np.arange(100), 8)
    assert (len(stream.train), len(stream.val)) == (90, 10)
    assert (stream.windows("train"), stream.windows("val")) == (82, 2)
    seen = set()
    for _ in range(300):
        x, y = stream.batch(10)
        assert x.shape == y.shape == (10, 8)
        np.testing.assert_array_equal(y, x + 1)
        seen.update(x[:, 0].tolist())
    assert seen == set(range(82)), "every start occurs, the last one too, and no other"


def test_the_smallest_split_has_one_window() -> None:
    stream = TokenStream(np.arange(18), 8, val_fraction=0.5)
    assert stream.windows("train") == 1
    x, y = stream.batch(2)
    assert x.tolist() == [list(range(8))] * 2 and y.tolist() == [list(range(1, 9))] * 2


@pytest.mark.parametrize(
    ("length", "block", "fraction", "match"),
    [
        (50, 8, 0.1, "validation split is too short for a block: it has 5 of the text's 50 "
                     "symbols, block_size 8 needs at least 9"),
        (16, 8, 0.5, "training split is too short for a block: it has 8 of the text's 16"),
        (0, 8, 0.1, "training split .* has 0"),
    ],
)  # fmt: skip
def test_a_text_shorter_than_a_block_is_refused_at_once(
    length: int, block: int, fraction: float, match: str
) -> None:
    with pytest.raises(DataError, match=match):
        TokenStream(np.arange(length), block, fraction)


@pytest.mark.parametrize("length", [9, 10, 16, 17, 18, 24, 25, 26])
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_validation_meets_every_target_once(length: int, batch: int) -> None:
    stream = TokenStream(np.arange(2 * length), 8, val_fraction=0.5)
    targets: list[int] = []
    for x, y in stream.blocks("val", batch):
        assert x.shape == y.shape and x.shape[0] <= batch and x.shape[1] <= 8
        np.testing.assert_array_equal(y, x + 1)
        targets += y.ravel().tolist()
    assert targets == list(range(length + 1, 2 * length))
    assert len(list(stream.blocks("val", batch, limit=1))) == 1


def test_few_of_many_batches_are_spread_evenly() -> None:
    assert list(spread(10, 3)) == [1, 5, 8], "the middles of 0..3.3, 3.3..6.7 and 6.7..10"
    assert list(spread(4)) == list(spread(4, 4)) == list(spread(4, 9)) == [0, 1, 2, 3]
    assert list(spread(7, 1)) == [3] and list(spread(0, 5)) == []


def test_blocks_come_from_the_generator_given_and_validation_draws_nothing() -> None:
    ids = np.arange(1000)
    first = TokenStream(ids, 8, rng=tt.Generator(5)).batch(4)[0]
    before = tt.random.state()
    stream = TokenStream(ids, 8, rng=tt.Generator(5))
    np.testing.assert_array_equal(stream.batch(4)[0], first)
    list(stream.blocks("val", 3))
    assert tt.random.state() == before
    TokenStream(ids, 8).batch(4)
    after = tt.random.state()
    assert after["data"] != before["data"]
    assert {k: v for k, v in after.items() if k != "data"} == {
        k: v for k, v in before.items() if k != "data"
    }


def test_the_default_corpus_is_there() -> None:
    from pydoc_data.topics import topics

    text = default_corpus()
    assert len(text) > 300_000
    names = sorted(topics)
    assert text.startswith(topics[names[0]]) and text.endswith(topics[names[-1]])


def test_files_are_read_as_text(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    assert load_text(file) == "one\ntwo\n"


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    latin, empty = tmp_path / "latin.txt", tmp_path / "empty.txt"
    latin.write_bytes("caf\xe9".encode("latin-1"))
    empty.write_bytes(b"")
    for path, match in [
        (latin, r"latin.txt is not UTF-8 text \(byte 3"), (empty, "empty.txt is empty"),
        (tmp_path, "cannot read .*: Is a directory"), (tmp_path / "no.txt", "cannot read .*no.txt"),
        (Path("a\0b"), "expected a path without control characters"),
    ]:  # fmt: skip
        with pytest.raises(DataError, match=match):
            load_text(path)


def test_a_fingerprint_tells_texts_apart() -> None:
    assert fingerprint("a") == fingerprint("a") != fingerprint("b")
    assert fingerprint("\ud800")
