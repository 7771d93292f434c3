"""Layer norm: what a gradient loses on its way through a mean and a standard deviation."""

import tinytensor as tt

x = tt.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 0.0]], requires_grad=True, name="x")
gamma = tt.tensor([1.0, 1.0, 2.0], requires_grad=True, name="gamma")
beta = tt.tensor([0.0, 0.0, 0.5], requires_grad=True, name="beta")

y = tt.layer_norm(x, gamma, beta)
y.name = "y"
loss = (y * tt.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 0.0]], name="wish")).sum()
loss.name = "loss"

steps = tt.step_through(
    loss,
    title={"en": "Layer norm", "zh": "层归一化"},
    about={
        "en": "Each row is moved to mean 0 and stretched to variance 1. The gradient of a row "
        "sums to zero: shifting the row changes nothing. Open the op to see the mean and the "
        "variance send their parts back.",
        "zh": "每一行被平移到均值 0、缩放到方差 1。每一行的梯度之和为零：平移一行不会改变结果。"
        "打开这个运算，可以看到均值和方差各自传回的部分。",
    },
)

if __name__ == "__main__":
    print(steps.save("layer_norm.html"))
