"""Cross-entropy: the gradient is what was predicted less what is true."""

import tinytensor as tt

logits = tt.tensor([[2.0, 1.0, -1.0], [0.5, 0.0, 0.5]], requires_grad=True, name="logits")
targets = tt.tensor([0, 1], name="targets")
loss = tt.cross_entropy(logits, targets)
loss.name = "loss"

steps = tt.step_through(
    loss,
    title={"en": "Cross-entropy", "zh": "交叉熵"},
    about={
        "en": "Two examples, three classes. The gradient of the logits is (softmax − one-hot) / 2: "
        "what was predicted, less what is true, over the number of examples. Open the op to see "
        "the logarithm and the exponential cancel.",
        "zh": "两个样本，三个类别。logits 的梯度是 (softmax − one-hot) / 2："
        "预测值减去真实值，再除以样本数。打开这个运算，可以看到对数与指数如何相互抵消。",
    },
)

if __name__ == "__main__":
    print(steps.save("cross_entropy.html"))
