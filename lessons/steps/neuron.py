"""One neuron, forward and back."""

import tinytensor as tt

x1 = tt.tensor(2.0, requires_grad=True, name="x1")
x2 = tt.tensor(0.0, requires_grad=True, name="x2")
w1 = tt.tensor(-3.0, requires_grad=True, name="w1")
w2 = tt.tensor(1.0, requires_grad=True, name="w2")
b = tt.tensor(6.8813735, requires_grad=True, name="b")

n = x1 * w1 + x2 * w2 + b
n.name = "n"
o = tt.tanh(n)
o.name = "o"

steps = tt.step_through(
    o,
    title={"en": "A neuron", "zh": "一个神经元"},
    about={
        "en": "Two inputs, two weights and a bias. Which of the five numbers would change the "
        "output most, if it were a little larger? Their gradients tell.",
        "zh": "两个输入、两个权重和一个偏置。五个数中哪一个稍微变大时，输出变化最大？"
        "看它们的梯度。",
    },
)

if __name__ == "__main__":
    print(steps.save("neuron.html"))
