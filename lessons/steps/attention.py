"""Attention with its mask: what may not be seen gets no gradient."""

import tinytensor as tt

q = tt.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], requires_grad=True, name="q")
k = tt.tensor([[1.0, 0.5], [0.0, 1.0], [-1.0, 0.5]], requires_grad=True, name="k")
v = tt.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, -1.0]], requires_grad=True, name="v")
mask = tt.tensor([[True, False, False], [True, True, False], [True, True, True]], name="mask")

out = tt.scaled_dot_product_attention(q, k, v, mask)
out.name = "out"
loss = out[1].sum()
loss.name = "loss"

steps = tt.step_through(
    loss,
    title={"en": "Attention and its mask", "zh": "注意力与掩码"},
    about={
        "en": "Three tokens; each may look at itself and at those before it. The loss reads the "
        "second row alone: the third key and value, which it must not see, get a gradient of "
        "exactly 0. Open the op: scores, mask, softmax, mixture.",
        "zh": "三个词元，每个只能看自己和之前的词元。损失只读取第二行：它看不到的第三个键和值，"
        "梯度恰好为 0。打开这个运算：打分、掩码、softmax、加权混合。",
    },
)

if __name__ == "__main__":
    print(steps.save("attention.html"))
