"""What all language models promise: one face, right gradients, no leaks, clear errors."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.arrays.device import Device
from tinytensor.train.config import CHOICES

from ..nn.helpers import DropAll, check_gradients, randomize, values_of

TINY: dict[str, dict[str, Any]] = {
    "gpt": {"vocab_size": 5, "block_size": 6, "n_layer": 2, "n_head": 2, "n_embd": 4},
    "rnn": {"vocab_size": 5, "block_size": 6, "n_layer": 2, "n_embd": 3, "n_hidden": 4},
    "gru": {"vocab_size": 5, "block_size": 6, "n_layer": 2, "n_embd": 3, "n_hidden": 3},
    "lstm": {"vocab_size": 5, "block_size": 6, "n_layer": 2, "n_embd": 3, "n_hidden": 3},
}
#: the models that all tests here are of
LANGUAGE = [
    name for name, (kind, _) in models.MODELS.items() if issubclass(kind, models.LanguageModel)
]
IDS = np.array([[0, 3, 1, 4], [2, 2, 0, 1]])
TARGETS = np.array([[3, 1, 4, 2], [2, 0, -100, 3]])


@pytest.fixture(params=TINY)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str) -> Any:
    return models.build(name, **TINY[name])


def test_logits_and_loss(name: str, device: Device) -> None:
    model: Any = models.build(name, **TINY[name])
    logits = model(IDS)
    assert logits.shape == (2, 4, 5) and logits.dtype == np.float32 and logits.device is device
    again, loss = model(IDS, TARGETS)
    np.testing.assert_array_equal(values_of(again), values_of(logits))
    z = values_of(logits).astype(np.float64)
    log_probs = z - np.log(np.exp(z).sum(-1, keepdims=True))
    counts = TARGETS >= 0
    picked = np.take_along_axis(log_probs, np.where(counts, TARGETS, 0)[..., None], -1)[..., 0]
    assert loss.shape == () and loss.item() == pytest.approx(-picked[counts].mean(), rel=1e-5)
    loss.backward()
    for path, param in model.named_parameters():
        assert param.grad is not None, path
        assert param.grad.dtype == np.float32 and param.grad.device is device, path


def test_ids_may_be_tensors_arrays_or_lists(model: Any) -> None:
    want = values_of(model(IDS))
    for ids in (tt.tensor(IDS), IDS.astype(np.int32), IDS.astype(np.uint16), IDS.tolist()):
        np.testing.assert_array_equal(values_of(model(ids)), want)
    loss = model(IDS, TARGETS)[1].item()
    assert model(IDS.tolist(), TARGETS.tolist())[1].item() == loss
    assert model(tt.tensor(IDS), tt.tensor(TARGETS))[1].item() == loss


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("gpt", {}),
    ("gpt", {"bias": False, "activation": "gelu"}),
    ("rnn", {}),
    ("rnn", {"nonlinearity": "relu", "n_embd": 4, "tie_weights": True}),
    ("gru", {}),
    ("gru", {"tie_weights": True}),
    ("lstm", {}),
    ("lstm", {"tie_weights": True}),
]


@pytest.mark.parametrize(
    ("kind", "options"), VARIANTS, ids=[f"{kind}{options or ''}" for kind, options in VARIANTS]
)
def test_finite_differences_through_the_whole_model(
    kind: str, options: dict[str, Any], rng: np.random.Generator
) -> None:
    model = models.build(kind, **(TINY[kind] | options))
    randomize(model, rng)
    leaves = dict(model.named_parameters())
    check_gradients(lambda: model(IDS, TARGETS)[1], leaves, rng)
    check_gradients(lambda: model(IDS), leaves, rng, tolerance=1e-5)


def test_no_position_sees_a_later_one(model: Any) -> None:
    # C39 (c)
    before = values_of(model(IDS))
    changed = IDS.copy()
    changed[:, 2] = (changed[:, 2] + 1) % 5
    after = values_of(model(changed))
    np.testing.assert_allclose(after[:, :2], before[:, :2], atol=1e-6)
    assert (np.abs(after - before)[:, 2:].max(-1) > 1e-6).all()


def test_texts_of_a_batch_do_not_mix(model: Any) -> None:
    alone = np.concatenate([values_of(model(IDS[i : i + 1])) for i in range(2)])
    np.testing.assert_allclose(values_of(model(IDS)), alone, atol=1e-6)


def test_a_few_steps_learn_a_pattern(name: str) -> None:
    wide = {"n_embd": 16, "block_size": 8} | ({} if name == "gpt" else {"n_hidden": 16})
    model: Any = models.build(name, **(TINY[name] | wide))
    ids = np.array([[0, 1, 2, 3, 4, 0, 1, 2]])
    targets = (ids + 1) % 5
    first = model(ids, targets)[1].item()
    assert first == pytest.approx(math.log(5), abs=0.6)
    for _ in range(400):
        model.zero_grad()
        loss = model(ids, targets)[1]
        if loss.item() < 0.05:
            break
        loss.backward()
        with tt.no_grad():
            for p in model.parameters():
                p.copy_(values_of(p) - 0.5 * values_of(p.grad))
    assert loss.item() < 0.05
    np.testing.assert_array_equal(
        model.generate([0, 1], 6, temperature=0), [0, 1, 2, 3, 4, 0, 1, 2]
    )


def test_dropout_acts_in_training_only(name: str) -> None:
    model: Any = models.build(name, **TINY[name], dropout=0.4)
    assert not np.allclose(values_of(model(IDS)), values_of(model(IDS)))
    model.eval()
    np.testing.assert_array_equal(values_of(model(IDS)), values_of(model(IDS)))


def test_gpt_drops_the_output_of_each_part() -> None:
    model: Any = models.build("gpt", **TINY["gpt"])
    embedded = values_of(model.wpe(model.wte(IDS)))
    for block in model.h:
        block.mlp.dropout = block.dropout = DropAll()
        nn.init.ones_(block.attn.c_proj.bias)
    want = values_of(model.lm_head(model.ln_f(tt.tensor(embedded))))
    np.testing.assert_allclose(values_of(model(IDS)), want, atol=1e-6)
    model.dropout = DropAll()
    assert np.ptp(values_of(model(IDS)), axis=(0, 1)).max() < 1e-6, "embeddings are dropped too"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal_and_independent(model: Any, copied: Any) -> None:
    other = copied(model)
    np.testing.assert_array_equal(values_of(other(IDS)), values_of(model(IDS)))
    assert other.config == model.config
    assert other.num_parameters() == model.num_parameters()
    with tt.no_grad():
        for p in other.parameters():
            p.copy_(values_of(p) + 1)
    assert not np.allclose(values_of(other(IDS)), values_of(model(IDS)))


def test_state_dict_round_trip(model: Any, name: str) -> None:
    other: Any = models.build(name, **TINY[name])
    assert not np.allclose(values_of(other(IDS)), values_of(model(IDS)))
    other.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(values_of(other(IDS)), values_of(model(IDS)))


def test_a_seed_makes_the_same_model(name: str) -> None:
    states = []
    for _ in range(2):
        tt.random.manual_seed(4)
        states.append(models.build(name, **TINY[name]).state_dict())
    for key, value in states[0].items():
        np.testing.assert_array_equal(value, states[1][key])


def test_wrong_ids_are_named(name: str, device: Device) -> None:
    model: Any = models.build(name, **TINY[name])
    with pytest.raises(IndexError, match=r"ids: 5 at \(0, 2\) is outside the vocabulary of 5"):
        model([[0, 1, 5]])
    with pytest.raises(IndexError, match=r"ids: -1 at \(1, 0\) is outside the vocabulary of 5"):
        model([[0], [-1]])
    with pytest.raises(ValueError, match=r"ids: expected shape \(batch, time\).*got \(3,\)"):
        model([0, 1, 2])
    with pytest.raises(ValueError, match=r"ids: expected shape.*got \(1, 0\)"):
        model([[]])
    with pytest.raises(TypeError, match="ids: expected integers, got dtype float"):
        model([[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"targets: expected the shape of ids \(2, 4\)"):
        model(IDS, TARGETS[:1])
    with pytest.raises((IndexError, ValueError), match=r"\b7\b"):
        model(IDS, np.full((2, 4), 7))


def test_moving_a_model(model: Any, other_device: Device) -> None:
    want = values_of(model(IDS))
    text = model.generate([1, 2], 8, temperature=0)
    model.to(other_device)
    logits, loss = model(IDS, TARGETS)
    loss.backward()
    assert logits.device is other_device
    np.testing.assert_allclose(values_of(logits), want, atol=1e-5)
    assert model(tt.tensor(IDS), tt.tensor(TARGETS))[1].device is other_device, "ids follow"
    got = model.generate([1, 2], 8, temperature=0)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, text)


# ---- configs -----------------------------------------------------------------------------------


def test_configs_are_frozen_plain_and_checked(name: str) -> None:
    config_class = models.MODELS[name][1]
    config = config_class(**TINY[name])
    assert config_class(**json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(AttributeError):
        config.vocab_size = 3
    assert config_class(10).vocab_size == 10
    numpy = config_class(np.int64(10), np.int32(4), dropout=np.float32(0.5))
    assert json.loads(json.dumps(numpy.to_dict())) == config_class(10, 4, dropout=0.5).to_dict()
    for field, bad in {"vocab_size": 0, "block_size": -1, "n_layer": 1.5, "n_embd": "8"}.items():
        with pytest.raises(ValueError, match=rf"{field}: expected an integer >= 1, got"):
            config_class(**(TINY[name] | {field: bad}))
    with pytest.raises(ValueError, match=r"dropout: expected a probability in \[0, 1\], got 2"):
        config_class(5, dropout=2)


def test_special_fields_are_checked() -> None:
    with pytest.raises(ValueError, match="n_embd: expected a multiple of n_head = 3, got 8"):
        models.GPTConfig(5, n_embd=8, n_head=3)
    with pytest.raises(ValueError, match="activation: expected one of.*got 'elu'"):
        models.GPTConfig(5, activation="elu")
    with pytest.raises(ValueError, match="bias: expected True or False, got 1"):
        models.GPTConfig(5, bias=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tie_weights: needs n_embd = n_hidden, got 128 and 240"):
        models.LSTMConfig(5, tie_weights=True)
    with pytest.raises(ValueError, match="nonlinearity: expected 'tanh' or 'relu'"):
        models.RNNConfig(5, nonlinearity="sin")


def test_build_errors() -> None:
    with pytest.raises(ValueError, match=re.escape(f"expected one of {sorted(models.MODELS)}")):
        models.build("bert", vocab_size=3)
    with pytest.raises(ValueError, match="n_head: RNNConfig has only .*'n_hidden'"):
        models.build("rnn", vocab_size=3, n_head=2)
    with pytest.raises(ValueError, match="vocab_size: required"):
        models.build("gpt")


def test_every_model_can_be_trained() -> None:
    assert sorted(CHOICES["model"]) == sorted(models.MODELS)


def test_default_sizes_are_about_equal() -> None:
    assert sorted(LANGUAGE) == sorted(TINY)
    counts = [models.build(kind, vocab_size=65).num_parameters() for kind in LANGUAGE]
    assert max(counts) < 1.1 * min(counts)


# ---- each model's own --------------------------------------------------------------------------


def test_gpt_has_gpt2_names_a_tied_head_and_counts_it_once() -> None:
    model: Any = models.build("gpt", **TINY["gpt"])
    names = list(model.state_dict())
    block = [
        "ln_1.weight",
        "ln_1.bias",
        "attn.c_attn.weight",
        "attn.c_attn.bias",
        "attn.c_proj.weight",
        "attn.c_proj.bias",
        "ln_2.weight",
        "ln_2.bias",
        "mlp.c_fc.weight",
        "mlp.c_fc.bias",
        "mlp.c_proj.weight",
        "mlp.c_proj.bias",
    ]
    assert names == [
        "wte.weight",
        "wpe.weight",
        *[f"h.{i}.{part}" for i in range(2) for part in block],
        "ln_f.weight",
        "ln_f.bias",
    ]
    assert model.lm_head.weight is model.wte.weight
    c, v, t = 4, 5, 6
    assert model.num_parameters() == v * c + t * c + 2 * (12 * c * c + 13 * c) + 2 * c
    plain = models.build("gpt", **TINY["gpt"], bias=False)
    assert plain.num_parameters() == v * c + t * c + 2 * (12 * c * c + 2 * c) + c
    assert not [n for n in plain.state_dict() if n.endswith("bias")]
    assert "(0-1): 2 x TransformerBlock(" in repr(model)
    assert "(lm_head): Linear(4, 5, bias=False)  # weight = wte.weight" in repr(model)


def test_gpt_starts_as_gpt2() -> None:
    model: Any = models.build("gpt", vocab_size=300, n_layer=8, n_embd=64)
    for name, param in model.named_parameters():
        values = values_of(param)
        if name.endswith("bias"):
            assert not values.any(), name
        elif "ln_" in name:
            assert (values == 1).all(), name
        else:
            scale = 0.02 / 4 if name.endswith("c_proj.weight") else 0.02
            assert values.std() == pytest.approx(scale, rel=0.06), name
            assert abs(values.mean()) < scale / 10, name


def test_gpt_refuses_sequences_longer_than_its_block() -> None:
    model: Any = models.build("gpt", **TINY["gpt"])
    assert model([[0] * 6]).shape == (1, 6, 5)
    with pytest.raises(ValueError, match="ids: 7 symbols are longer than block_size = 6"):
        model([[0] * 7])


def test_gpt_loads_nanogpt_and_gpt2_files(rng: np.random.Generator) -> None:
    model: Any = models.build("gpt", **TINY["gpt"])
    state = {k: rng.standard_normal(v.shape) for k, v in model.state_dict().items()}
    model.load_state_dict(state)
    want = values_of(model(IDS))
    for prefix in ("transformer.", "_orig_mod.transformer."):
        nano = {prefix + name: value for name, value in state.items()}
        nano[prefix.replace("transformer.", "") + "lm_head.weight"] = state["wte.weight"]
        nano[prefix + "h.0.attn.bias"] = np.ones((1, 1, 6, 6))
        other: Any = models.build("gpt", **TINY["gpt"])
        other.load_state_dict(nano)
        np.testing.assert_array_equal(values_of(other(IDS)), want)
    turned = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    gpt2 = {k: v.T if k.endswith(turned) else v for k, v in state.items()}
    gpt2["h.1.attn.masked_bias"] = np.array(-1e4)
    other = models.build("gpt", **TINY["gpt"])
    other.load_state_dict(gpt2)
    np.testing.assert_array_equal(values_of(other(IDS)), want)
    with pytest.raises(ValueError, match=r"unexpected in the state: transformer\.h\.2\.ln_1\.bias"):
        other.load_state_dict({**nano, "transformer.h.2.ln_1.bias": np.zeros(4)})
    with pytest.raises(TypeError, match="state: expected a dict"):
        other.load_state_dict(3)


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_recurrent_models_read_any_length_and_start_orthogonal(kind: str) -> None:
    model: Any = models.build(kind, **TINY[kind])
    assert model([[0] * 50]).shape == (1, 50, 5)
    gates = model.rnn.gates
    for w in np.split(values_of(model.rnn.get_parameter("weight_hh_l1")), gates):
        np.testing.assert_allclose(w @ w.T, np.eye(len(w)), atol=1e-6)
    tied: Any = models.build(kind, **(TINY[kind] | {"n_embd": 4, "n_hidden": 4}), tie_weights=True)
    assert tied.lm_head.weight is tied.wte.weight
    assert "lm_head.weight" not in tied.state_dict() and "lm_head.bias" in tied.state_dict()


def test_lstm_forget_gates_start_open() -> None:
    model = models.LSTMLM(models.LSTMConfig(**TINY["lstm"], forget_bias=2.0))
    for layer in range(2):
        total = sum(
            values_of(model.rnn.get_parameter(f"bias_{part}_l{layer}")) for part in ("ih", "hh")
        )
        np.testing.assert_array_equal(total[3:6], [2, 2, 2])
        assert (np.abs(np.delete(total, [3, 4, 5])) > 0).all()


def test_modules_are_named_in_the_graph() -> None:
    model: Any = models.build("gpt", **TINY["gpt"])
    loss = model(IDS, TARGETS)[1]
    paths, stack = set(), [loss.node]
    while stack:
        node = stack.pop()
        if node.scope is not None and node.scope.path not in paths:
            paths.add(node.scope.path)
        stack += [p for p in node.parents if p is not None and not isinstance(p, tt.Tensor)]
    # dropout of 0 and identity make no nodes
    assert {"", "wte", "wpe", "h.0", "h.0.attn", "h.1.mlp.c_fc", "ln_f", "lm_head"} <= paths


def test_the_base_class_is_usable_for_another_model() -> None:
    class Bigram(models.LanguageModel[models.TextConfig]):
        def __init__(self, config: models.TextConfig):
            self.config = config
            self.table = nn.Embedding(config.vocab_size, config.vocab_size)
            self.lm_head = nn.Linear(config.vocab_size, config.vocab_size)

        def hidden(self, ids: tt.Tensor) -> tt.Tensor:
            return self.table(ids)

        def decode(self, ids: Any, state: Any = None) -> tuple[tt.Tensor, Any]:
            return self.lm_head(self.hidden(self.check_ids(ids))[:, -1]), None

    model = Bigram(models.TextConfig(5))
    assert model.generate([[1, 2]], 3).shape == (1, 5)
    assert model(IDS, TARGETS)[1].item() > 0
