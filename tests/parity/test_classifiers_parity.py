"""The classifiers against the same models of PyTorch's modules: logits, loss, every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinytensor import models

from ..nn.helpers import randomize, values_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")

TARGETS = np.array([0, 3, -100, 1])


def text_net(config: models.CNNConfig) -> Any:
    """Kim's CNN, as one writes it with torch.nn."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte = torch.nn.Embedding(config.vocab_size, config.n_embd, padding_idx=0)
            self.convs = torch.nn.ModuleList(
                torch.nn.Conv1d(config.n_embd, config.n_filters, k) for k in config.windows
            )
            self.head = torch.nn.Linear(config.n_filters * len(config.windows), config.n_classes)

        def forward(self, texts: Any) -> Any:
            """One text at a time, without its padding."""
            rows = []
            for ids in texts:
                x = self.wte(ids[ids != 0]).T
                rows.append(torch.cat([torch.relu(conv(x)).amax(dim=1) for conv in self.convs]))
            return self.head(torch.stack(rows))

    return Net()


def image_net(config: models.ImageCNNConfig) -> Any:
    """Convolutions, ReLU, max-pooling and two linear layers of torch.nn."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            given = (config.in_channels, *config.channels)
            self.convs = torch.nn.ModuleList(
                torch.nn.Conv2d(a, b, config.kernel_size, padding="same")
                for a, b in zip(given, given[1:])
            )
            self.pool = torch.nn.MaxPool2d(2)
            self.hidden = torch.nn.Linear(given[-1] * config.pixels_left, config.n_hidden)
            self.head = torch.nn.Linear(config.n_hidden, config.n_classes)

        def forward(self, x: Any) -> Any:
            for conv in self.convs:
                x = self.pool(torch.relu(conv(x)))
            return self.head(torch.relu(self.hidden(x.flatten(1))))

    return Net()


CASES: list[tuple[str, dict[str, Any]]] = [
    ("cnn", {"vocab_size": 9, "n_embd": 5, "n_filters": 6}),
    ("cnn", {"vocab_size": 9, "n_embd": 4, "n_filters": 7, "windows": (1, 2)}),
    ("image_cnn", {"height": 8, "width": 8, "channels": (4, 6), "n_hidden": 7}),
    ("image_cnn", {"height": 7, "width": 9, "channels": (3,), "in_channels": 2, "n_hidden": 8}),
    ("image_cnn", {"height": 8, "width": 10, "channels": (3, 4, 5), "kernel_size": 5}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}{o}" for n, o in CASES])
def test_classifier(name: str, options: dict[str, Any], rng: np.random.Generator) -> None:
    model: Any = models.build(name, n_classes=4, dropout=0.0, **options)
    config = model.config
    randomize(model, rng)
    if name == "cnn":
        net = text_net(config).double()
        x = rng.integers(1, 9, (4, 12))
        x[1, 7:] = x[3, 5:] = 0
    else:
        net = image_net(config).double()
        x = rng.standard_normal((4, config.in_channels, config.height, config.width))
    net.load_state_dict({k: torch.tensor(v) for k, v in model.state_dict().items()})
    reference = net(torch.from_numpy(x))
    reference_loss = torch.nn.functional.cross_entropy(reference, torch.from_numpy(TARGETS))
    reference_loss.backward()

    logits, loss = model(x, TARGETS)
    loss.backward()
    np.testing.assert_allclose(values_of(logits), reference.detach().numpy(), rtol=1e-9, atol=1e-11)
    assert loss.item() == pytest.approx(reference_loss.item(), rel=1e-12)
    grads = dict(net.named_parameters())
    for key, param in model.named_parameters():
        want = grads.pop(key).grad.numpy()
        np.testing.assert_allclose(values_of(param.grad), want, rtol=1e-8, atol=1e-12, err_msg=key)
    assert not grads, "PyTorch's model has parameters that ours lacks"


@pytest.mark.parametrize("name", ["cnn", "image_cnn"])
def test_float32_stays_close(name: str, rng: np.random.Generator) -> None:
    options = {"vocab_size": 50} if name == "cnn" else {}
    model: Any = models.build(name, n_classes=10, dropout=0.0, **options)
    net = (text_net if name == "cnn" else image_net)(model.config).double()
    net.load_state_dict({k: torch.tensor(v) for k, v in model.state_dict().items()})
    x = rng.integers(1, 50, (3, 40)) if name == "cnn" else rng.random((3, 1, 8, 8))
    want = net(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(values_of(model(x)), want, rtol=1e-3, atol=1e-5)
