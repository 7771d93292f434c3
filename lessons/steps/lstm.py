"""One step of an LSTM: the gates, and the road along the cell."""

import tinytensor as tt

x = tt.tensor(1.0, name="x")
h = tt.tensor(0.3, requires_grad=True, name="h")
c = tt.tensor(-0.5, requires_grad=True, name="c")
weights = {
    name: [tt.tensor(value, requires_grad=True, name=f"{letter}{name}") for letter, value in pair]
    for name, pair in {
        "i": (("w", 0.5), ("u", -0.2)),
        "f": (("w", 1.5), ("u", 0.4)),
        "g": (("w", 0.9), ("u", 0.1)),
        "o": (("w", 0.3), ("u", 0.7)),
    }.items()
}


def gate(name, squash):
    """squash(w x + u h), called by its usual letter."""
    w, u = weights[name]
    made = squash(w * x + u * h)
    made.name = name
    return made


i, f, o = (gate(name, tt.sigmoid) for name in "ifo")
g = gate("g", tt.tanh)
new_c = f * c + i * g
new_c.name = "c'"
new_h = o * tt.tanh(new_c)
new_h.name = "h'"

steps = tt.step_through(
    new_h,
    title={"en": "One step of an LSTM", "zh": "LSTM 的一步"},
    about={
        "en": "Input gate i, forget gate f, candidate g and output gate o, all of width 1. The "
        "gradient reaches the old cell c through one product with f alone: where f is near 1 it "
        "arrives nearly whole. The old state h gets four terms, one from each gate.",
        "zh": "输入门 i、遗忘门 f、候选值 g 和输出门 o，宽度都是 1。梯度只经过与 f 的一次乘法就到达"
        "旧的细胞状态 c：f 接近 1 时几乎不变。旧的隐藏状态 h 得到四项，每个门一项。",
    },
)

if __name__ == "__main__":
    print(steps.save("lstm.html"))
