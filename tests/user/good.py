"""What a user writes, in a project of his own: mypy --strict and pyright find nothing wrong here.

Never run. ``assert_type`` says what a name is known as; an unknown one (Any) would be reported.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np
import tinytensor as tt
import tinytensor.nn as layers
from tinytensor import Tensor, nn
from tinytensor.models import GPT, GPTConfig, build
from tinytensor.nn import init
from tinytensor.train import Adam, AdamW, CosineWarmup, TrainConfig, Trainer, clip_grad_norm


def ops(x: Tensor) -> Tensor:
    assert_type(tt.softmax(x, axis=-1), Tensor)
    assert_type(tt.matmul(x, np.ones((3, 2))) + 1, Tensor)
    assert_type(1 - 2 * x / x**2 @ x, Tensor)
    assert_type(tt.sum(x, axis=(0, 1), keepdims=True), Tensor)
    assert_type(tt.max([1.0, 2.0]), Tensor)
    assert_type(tt.where(x > 0, x, 0.0), Tensor)
    assert_type(tt.concat([x, x], axis=1), Tensor)
    assert_type(tt.stack((x, x)), Tensor)
    assert_type(tt.clip(x, 0, 1), Tensor)
    assert_type(tt.conv2d(x, x, padding="same", stride=(1, 1)), Tensor)
    assert_type(tt.max_pool2d(x, 2), Tensor)
    assert_type(tt.max_pool2d(x, 2, return_indices=True), tuple[Tensor, Tensor])
    assert_type(tt.svd(x), tuple[Tensor, Tensor, Tensor])
    assert_type(tt.split(x, 2), tuple[Tensor, ...])
    assert_type(tt.unbind(x), tuple[Tensor, ...])
    assert_type(tt.topk(x, 2), tuple[Tensor, Tensor])
    assert_type(tt.atleast_1d(x), Tensor)
    assert_type(tt.einsum("ij,jk->ik", x, x), Tensor)
    assert_type(tt.cross_entropy(x, [0, 1], label_smoothing=0.1, reduction="sum"), Tensor)
    assert_type(tt.layer_norm(x, eps=1e-6), Tensor)
    assert_type(tt.pad(x, {0: (1, 1)}), Tensor)
    assert_type(tt.allclose(x, x), bool)
    assert_type(tt.concatenate([x]), Tensor)
    assert_type(tt.at(x, 0).set(1.0), Tensor)
    assert_type(tt.reshape(x, (2, -1)), Tensor)
    assert_type(tt.reshape(x, 2, -1), Tensor)
    assert_type(tt.zeros(2, 3, dtype=tt.float64), Tensor)
    assert_type(tt.randn(2, 3), Tensor)
    assert_type(tt.arange(10), Tensor)
    assert_type(tt.pi, float)
    functions = [tt.relu, tt.gelu, tt.tanh]
    return functions[0](x)


def methods(x: Tensor) -> float:
    assert_type(x.sum(axis=0, keepdims=True), Tensor)
    assert_type(x.mean(), Tensor)
    assert_type(x.reshape(2, 3).T, Tensor)
    assert_type(x.svd(), tuple[Tensor, Tensor, Tensor])
    assert_type(x[0, :2], Tensor)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.ndim, int)
    assert_type(x.grad, Tensor | None)
    assert_type(x.float().to("cpu"), Tensor)
    assert_type(x.int().argmax(axis=1), Tensor)
    assert_type(x.detach().requires_grad_(), Tensor)
    x.backward(retain_graph=True)
    with tt.no_grad():
        x -= 0.1
        x[0] = 1.0
    for row in x:
        assert_type(row, Tensor)
    return float(x) + len(x)


def derivatives(x: Tensor) -> None:
    tt.grad(x.sum(), [x], create_graph=True)
    tt.gradcheck(lambda a: a * a, [x])
    with tt.detect_anomaly():
        tt.jacobian(tt.exp, x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.norm = layers.LayerNorm(128)
        self.fc2 = nn.Linear(128, 10, bias=False)
        self.scale = nn.Parameter(tt.ones(10))
        init.xavier_uniform_(self.fc2.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = tt.relu(self.norm(self.fc1(x)))
        return self.fc2(x) * self.scale  # type: ignore[no-any-return, unused-ignore]


def train(data: Tensor, target: Tensor) -> None:
    model = Net()
    optimizer = AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    schedule = CosineWarmup(1e-3, 1e-4, warmup=10, total=100)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    for step in range(100):
        optimizer.lr = schedule(step)
        loss = loss_of(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
    with nn.evaluating(model), tt.no_grad():
        print(model(data).argmax(axis=1).tolist(), model.num_parameters())
    model.load_state_dict(model.state_dict())
    nn.save_weights(model, "net.safetensors")
    Adam(nn.Sequential(nn.Linear(2, 3), nn.ReLU()).parameters())


def draw(loss: Tensor) -> None:
    picture = tt.draw(loss, depth=1, open="softmax")
    picture.save("loss.svg")
    with tt.profile() as report:
        loss.backward()
    print(report, tt.memory_report, tt.ops("norm"))
    tt.explain("softmax")


def models() -> None:
    model = GPT(GPTConfig(vocab_size=65, n_layer=2))
    model.generate(tt.tensor([[0]]), max_new_tokens=10, temperature=0.8)
    build("lstm", vocab_size=65)
    config = TrainConfig(steps=100, lr=1e-3)
    Trainer(config)
    print(tt.nn.Linear(2, 3).weight, tt.train.TrainConfig, tt.models.MODELS)
    tt.manual_seed(0)
