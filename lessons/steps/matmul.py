"""A product of matrices, and which row and column made each gradient."""

import tinytensor as tt

x = tt.tensor([[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]], requires_grad=True, name="x")
w = tt.tensor([[0.5, -1.0], [1.5, 0.0], [-0.5, 2.0]], requires_grad=True, name="w")
target = tt.tensor([[4.0, -3.0], [0.0, 5.0]], name="target")

y = x @ w
y.name = "y"
loss = tt.square(y - target).sum()
loss.name = "loss"

steps = tt.step_through(
    loss,
    title={"en": "A matrix product", "zh": "矩阵乘法"},
    about={
        "en": "y = x @ w. Point at an element of a gradient of w: it is a column of x times a "
        "column of the gradient of y. That is all of dW = xᵀ g.",
        "zh": "y = x @ w。把指针放在 w 的梯度的某个元素上：它是 x 的一列乘以 y 的梯度的一列。"
        "这就是 dW = xᵀ g 的全部。",
    },
)

if __name__ == "__main__":
    print(steps.save("matmul.html"))
