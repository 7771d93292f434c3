"""Why does the gradient of softmax sum to zero?"""

import tinytensor as tt

scores = tt.tensor([0.0, 1.0, 3.0], requires_grad=True, name="scores")
p = tt.softmax(scores)
p.name = "p"
first = p[0]
first.name = "first"

steps = tt.step_through(
    first,
    title={"en": "Softmax", "zh": "Softmax"},
    about={
        "en": "Why does the gradient of the scores sum to zero? Adding the same number to all "
        "scores changes no probability: every exponential, and their sum, grow by the same factor. "
        "So along (1, 1, 1) the slope is 0. Step back and add up the three numbers, then open "
        "the softmax and see where they come from.",
        "zh": "为什么分数的梯度之和为零？给所有分数加上同一个数，概率都不变："
        "每个指数以及它们的和都放大相同的倍数。所以沿 (1, 1, 1) 方向斜率为 0。"
        "请逐步反向，把三个数加起来，再打开 softmax，看它们从何而来。",
    },
)

if __name__ == "__main__":
    print(steps.save("softmax.html"))
