"""One number that is used twice: its gradients add up."""

import tinytensor as tt

x = tt.tensor(1.5, requires_grad=True, name="x")
u = tt.tensor(0.5, requires_grad=True, name="u")
v = tt.tensor(-2.0, requires_grad=True, name="v")

first = tt.sigmoid(u * x)
second = tt.sigmoid(v * x)
first.name, second.name = "first", "second"
y = first * second
y.name = "y"

steps = tt.step_through(
    y,
    title={"en": "Two neurons, one input", "zh": "两个神经元，同一个输入"},
    about={
        "en": "Both neurons read x. On the way back each sends x a gradient of its own; they "
        "come one after the other, and what x gets is their sum.",
        "zh": "两个神经元都读取 x。反向传播时它们各自给 x 一个梯度，先后到达，x 得到的是它们的和。",
    },
)

if __name__ == "__main__":
    print(steps.save("shared.html"))
