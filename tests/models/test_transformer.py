"""The Transformer: its loss, gradients, masks, cached decoding, and that it learns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.models.encoder_decoder import teacher_forcing
from tinytensor.models.ids import END, IGNORED, PAD, START
from tinytensor.models.transformer import Transformer, TransformerConfig
from tinytensor.train import optim

from ..nn.helpers import DropAll, check_gradients, randomize, values_of

TINY: dict[str, Any] = {
    "vocab_size": 7, "block_size": 6, "dropout": 0.0, "n_layer": 2, "n_head": 2, "n_embd": 4,
}  # fmt: skip
SOURCES, TARGETS = [[3, 4, 5, 6], [6, 3], [5]], [[5, 4], [3, 6, 6], []]
BATCH = teacher_forcing(SOURCES, TARGETS)
SOURCE, GIVEN, RIGHT = BATCH
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm_first": True, "positions": "learned"},
    {"positions": "none", "n_hidden": 5, "label_smoothing": 0.0},
]
variants = pytest.mark.parametrize("options", VARIANTS, ids=str)


def tiny(**options: Any) -> Transformer:
    return Transformer(TransformerConfig(**{**TINY, **options}))


def randomized(rng: np.random.Generator, scale: float = 0.5, **options: Any) -> Transformer:
    model = tiny(**options)
    randomize(model, rng, scale)
    return model


@variants
def test_logits_and_loss(options: dict[str, Any], device: Device) -> None:
    model = tiny(**options)
    logits, loss = model(*BATCH)
    assert logits.shape == (3, 4, 7) and logits.dtype == np.float32 and logits.device is device
    np.testing.assert_array_equal(values_of(model(SOURCE, GIVEN)), values_of(logits))
    z = values_of(logits).astype(np.float64)
    log_probs = z - np.log(np.exp(z).sum(-1, keepdims=True))
    counts = RIGHT != IGNORED
    right = np.take_along_axis(log_probs, np.where(counts, RIGHT, 0)[..., None], -1)[..., 0]
    plain, even = -right[counts].mean(), -log_probs.mean(-1)[counts].mean()
    e = options.get("label_smoothing", 0.1)
    assert loss.item() == pytest.approx((1 - e) * plain + e * even, rel=1e-5)
    assert model.loss(*BATCH).item() == loss.item()
    loss.backward()
    for path, param in model.named_parameters():
        assert param.grad is not None and param.grad.dtype == np.float32, path
        assert param.grad.device is device, path
    model.eval()  # where the loss says how well the model predicts
    assert model.loss(*BATCH).item() == pytest.approx(plain, rel=1e-5)


@variants
def test_finite_differences(options: dict[str, Any], rng: np.random.Generator) -> None:
    model = randomized(rng, **{"n_layer": 1, **options})
    leaves = dict(model.named_parameters())
    check_gradients(lambda: model.loss(*BATCH), leaves, rng, tolerance=5e-6)


@variants
def test_a_symbol_sees_none_after_it(options: dict[str, Any], rng: np.random.Generator) -> None:
    model = randomized(rng, **options)
    want = values_of(model(SOURCE, GIVEN))
    for t in range(1, GIVEN.shape[1]):
        changed = GIVEN.copy()
        changed[:, t:] = (changed[:, t:] + 2) % 7
        got = values_of(model(SOURCE, changed))
        np.testing.assert_array_equal(got[:, :t], want[:, :t])
        assert np.abs(got[:, t] - want[:, t]).max(axis=1).min() > 1e-3


@variants
def test_padding_moves_nothing(options: dict[str, Any], rng: np.random.Generator) -> None:
    """Whatever stands for PAD, and whatever stands after the targets that count."""
    model = randomized(rng, **options)
    counts = RIGHT != IGNORED

    def found(given: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        model.zero_grad()
        logits, loss = model(SOURCE, given, RIGHT)
        loss.backward()
        return values_of(logits)[counts], [values_of(p.grad) for p in model.parameters()]

    want, gradients = found(GIVEN)
    changed = np.where(counts, GIVEN, 5)
    got, others = found(changed)
    np.testing.assert_array_equal(got, want)
    for a, b in zip(gradients, others, strict=True):
        np.testing.assert_array_equal(a, b)
    head = values_of(model.wte.weight)
    model.lm_head.weight = nn.Parameter(tt.tensor(head))  # a head of its own: PAD is a class, too
    head[PAD] += 3.0
    model.wte.load_state_dict({"weight": head})
    np.testing.assert_array_equal(found(GIVEN)[0], want)
    real = SOURCE.copy()
    real[2, 1] = 3
    assert np.abs(values_of(model(real, GIVEN)) - values_of(model(SOURCE, GIVEN)))[2].max() > 1e-3


def test_order_is_known_from_positions_alone(rng: np.random.Generator) -> None:
    source = np.array([[3, 4, 5, 6]])
    for positions, known in (("sinusoidal", True), ("learned", True), ("none", False)):
        model = randomized(rng, positions=positions)
        a, b = (values_of(model(s, [[START, 3]])) for s in (source, source[:, ::-1].copy()))
        assert np.allclose(a, b, atol=1e-12) != known
    two = values_of(model(source, [[START, 3, 4, 5]]))  # but the decoder's mask tells some of it
    assert not np.allclose(two, values_of(model(source, [[START, 4, 3, 5]]))[:, :], atol=1e-6)


@variants
@pytest.mark.parametrize("parts", [[1, 1, 1, 1], [1, 3], [4], [2, 2]])
@pytest.mark.parametrize("recorded", [False, True])
def test_cached_decoding_equals_the_plain_path(
    options: dict[str, Any], parts: list[int], recorded: bool, rng: np.random.Generator
) -> None:
    model = randomized(rng, **options).eval()
    given = np.array([[START, 4, 6, 5], [START, 3, 3, 6], [START, 6, 4, 3]])
    want = values_of(model(SOURCE, given))
    with tt.set_grad_enabled(recorded):
        state, start = model.encode(SOURCE), 0
        for n in parts:
            logits, state = model.decode(given[:, start : start + n], state)
            start += n
            np.testing.assert_allclose(values_of(logits), want[:, start - 1], atol=1e-12)
            rows = np.array([2, 0, 0, 1])  # as beam search has it
            state, given, want = model.reorder(state, rows), given[rows], want[rows]
    assert logits.requires_grad == recorded


@variants
def test_it_learns(options: dict[str, Any]) -> None:
    if options.get("positions") == "none":
        return
    tt.manual_seed(0)
    sources = [[3, 4], [4, 3, 6], [5], [6, 6, 3, 4]]
    model = tiny(**options, n_embd=16) if "n_embd" not in options else tiny(**options)
    batch = teacher_forcing(sources, [source[::-1] for source in sources])
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(80):
        model.zero_grad()
        model.loss(*batch).backward()
        optimizer.step()
    for beam in (1, 3):
        assert model.translate(sources, beam) == [source[::-1] for source in sources]


def test_embeddings_are_dropped_too() -> None:
    model = tiny(norm_first=True)
    model.dropout = DropAll()  # type: ignore[assignment]
    rows = values_of(model(SOURCE, GIVEN)).reshape(-1, 7)
    np.testing.assert_allclose(rows, np.broadcast_to(rows[0], rows.shape), atol=1e-6)


def test_starting_values() -> None:
    model = Transformer(TransformerConfig(500, 100, n_embd=64, n_head=4))
    assert model.lm_head.weight is model.wte.weight
    assert np.std(values_of(model.wte.weight)) == pytest.approx(1 / 8, rel=0.03)
    assert np.std(values_of(model._embed(tt.tensor([[3] * 90]))[0] * 0.9)) > 0.5
    for block in (*model.encoder, *model.decoder):
        for weight in (block.mlp.c_fc.weight, block.attn.in_proj_weight):
            limit = math.sqrt(6 / sum(weight.shape))
            assert 0.98 * limit < np.abs(values_of(weight)).max() <= limit * 1.0001
        assert (
            not values_of(block.mlp.c_fc.bias).any()
            and not values_of(block.attn.in_proj_bias).any()
        )
    z = values_of(model.eval()([[5, 6, 7]], [[START, 9]]))
    assert 0.3 < z.std() < 3, "logits of a new model are of the size of one"


def test_embeddings_are_scaled_and_positions_added(rng: np.random.Generator) -> None:
    model = randomized(rng, n_embd=4)
    x = values_of(model._embed(tt.tensor([[3, 5]]), 2)[0])[0]
    rows = values_of(model.wte.weight)[[3, 5]] * 2
    np.testing.assert_allclose(x, rows + nn.sinusoids(6, 4)[2:4].astype(np.float32), atol=1e-12)


size = st.integers(1, 4)


@given(
    size, size, size, st.integers(4, 9), st.one_of(st.none(), size), st.booleans(),
    st.sampled_from(["sinusoidal", "learned", "none"]),
)  # fmt: skip
def test_a_config_knows_the_shapes(
    layers: int, heads: int, each: int, vocab: int, hidden: int | None, first: bool, positions: str
) -> None:
    config = TransformerConfig(
        vocab, 4, 0.0, 0.1, layers, heads, heads * each, hidden, first, positions
    )
    model = Transformer(config)
    built = [(path, array.shape) for path, array in model.state_dict().items()]
    assert list(config.parameter_shapes()) == built
    assert config.parameter_count() == model.num_parameters()
    assert config.array_count() == len(built)
    assert TransformerConfig.from_dict(config.to_dict()) == config
    batch = teacher_forcing([[3] * 4] * 2, [[3] * 3] * 2)
    report = tt.memory_report(model.loss(*batch))
    kept = report.total - report.leaves
    assert config.kept_per_symbol() * (batch[0].size + batch[1].size) * 4 <= kept


def test_one_that_could_never_be_built_is_counted_in_no_time() -> None:
    config = TransformerConfig(2**31 - 1, n_layer=2**31 - 1)
    assert config.parameter_count() > 2**31 * 16 * 128 * 128
    assert next(config.parameter_shapes()) == ("wte.weight", (2**31 - 1, 128))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 3}, "vocab_size: expected at least 4, of which PAD, START and END"),
        ({"n_embd": 5}, "n_embd: expected a multiple of n_head = 2, got 5"),
        ({"n_hidden": 0}, "n_hidden: expected an integer >= 1, got 0"),
        ({"positions": "rotary"}, "positions: expected one of .*'none'.*, got 'rotary'"),
        ({"label_smoothing": 1.5}, r"label_smoothing: expected a probability in \[0, 1\], got 1.5"),
        ({"norm_first": 1}, "norm_first: expected True or False, got 1"),
    ],
)
def test_fields_that_cannot_be_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny(**options)


def test_decoding_past_the_longest_target_is_refused() -> None:
    model = tiny(positions="none").eval()
    _, state = model.decode([[START, 3, 3, 3]], model.encode([[3]]))
    with pytest.raises(ValueError, match="ids: 7 symbols are longer than block_size = 6"):
        model.decode([[3, 3, 3]], state)
    with pytest.raises(ValueError, match="targets: expected 1, as many as sources, got 2"):
        teacher_forcing([[3]], [[3], [4]])


def test_batches_for_teacher_forcing() -> None:
    source, given, targets = teacher_forcing([[3, 4], [5]], [[6], [3, 4, 5]])
    assert source.tolist() == [[3, 4], [5, PAD]]
    assert given.tolist() == [[START, 6, PAD, PAD], [START, 3, 4, 5]]
    assert targets.tolist() == [[6, END, IGNORED, IGNORED], [3, 4, 5, END]]
