"""A recurrent network over three steps: one weight, three gradients."""

import tinytensor as tt

w = tt.tensor(0.8, requires_grad=True, name="w")
u = tt.tensor(0.5, requires_grad=True, name="u")
h = tt.tensor(0.0, name="h0")
for t, x in enumerate((1.0, -0.5, 0.25), start=1):
    h = tt.tanh(w * h + u * tt.tensor(x, name=f"x{t}"))
    h.name = f"h{t}"
loss = tt.square(h - 1.0)
loss.name = "loss"

steps = tt.step_through(
    loss,
    title={"en": "Backprop through time", "zh": "沿时间反向传播"},
    about={
        "en": "The same w and u at each of three steps. Each step sends them a gradient, and "
        "those of early steps are smaller: on their way back they were multiplied by w and by "
        "the slope of tanh, again and again. That is the vanishing gradient.",
        "zh": "三个时间步使用同样的 w 和 u。每一步都给它们一个梯度，越早的步越小："
        "一路上反复乘以 w 和 tanh 的斜率。这就是梯度消失。",
    },
)

if __name__ == "__main__":
    print(steps.save("rnn.html"))
