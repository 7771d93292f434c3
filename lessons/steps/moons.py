"""A network of two layers on two moons: one step of training, every number."""

import numpy as np

import tinytensor as tt
from tinytensor import nn

angle = np.linspace(0, np.pi, 4)
upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
points = tt.tensor(np.round(np.concatenate([upper, lower]), 2), name="points")
moon = tt.tensor([[0.0]] * 4 + [[1.0]] * 4, name="moon")

tt.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
logits = model(points)
logits.name = "logits"
loss = tt.binary_cross_entropy_with_logits(logits, moon)
loss.name = "loss"

steps = tt.step_through(
    loss,
    title={"en": "Two layers on two moons", "zh": "双月数据上的两层网络"},
    about={
        "en": "Eight points of two moons, four hidden units. Point at a gradient of the first "
        "layer's weight: it is a sum over all eight points, of the gradient that came times the "
        "input that was there.",
        "zh": "双月数据的八个点，四个隐藏单元。把指针放在第一层权重的某个梯度上："
        "它是八个点的求和，每一项是传来的梯度乘以当时的输入。",
    },
)

if __name__ == "__main__":
    print(steps.save("moons.html"))
