// What the page says, in English and in Simplified Chinese.

const en = {
  language: "Language", theme: "Colours", auto: "as the system", light: "light", dark: "dark",
  step: "Step", of: (step, all) => `step ${step} of ${all}`, play: "Play", pause: "Pause",
  back: "Back", next: "Next", newest: "Follow the newest",
  training: "The run goes on; this page follows it.", ended: "The run has ended.",
  replay: "A replay: this page asks nobody for anything.",
  lost: "The run's server no longer answers: it has ended, or was stopped. What came till then is "
    + "here; “tinytensor watch” with the run's folder shows all of it.",
  about: run => `${run.model}, task ${run.task}: ${count(run.parameters)} parameters; ${run.data}; `
    + `each step learns from ${run.batch}.`,
  thinned: n => `${count(n)} looks were thinned out, evenly, to keep the history small.`,
  loss: "Loss", train: "training", val: "validation", baseline: "guessing at random",
  lossNow: (at, loss, of) => `Step ${at}: training loss ${loss}${of > 1 ? ` (mean of up to ${of} steps)` : ""}`,
  valNow: (at, loss) => `validation loss ${loss} (step ${at})`,
  lr: "learning rate", norm: "norm of the gradient", noLoss: "No step is done yet.",
  clickable: "A click into a chart goes to that step.",
  gradients: "Gradients by layer",
  gradientsSay: "The norm of each part's gradient, of the whole batch, before clipping. A part whose line "
    + "falls far below the others learns slowly; one that shoots up may spoil the run.",
  layer: "layer", kind: "kind", share: "share of all",
  activations: "Activations by layer",
  activationsSay: "How the numbers spread that each layer gives, for the same few examples of the "
    + "validation part each time.",
  median: "median", p25: "25th percentile", p75: "75th percentile", p5: "5th percentile", p95: "95th percentile",
  middle: "the middle half", most: "from the 5th to the 95th percentile",
  mean: "mean", std: "std", min: "least", max: "largest", zero: "exactly 0", bad: "not finite",
  attention: "Attention",
  attentionSay: text => `Where the model looks as it reads “${text}”: each row looks, the columns are `
    + "looked at, the darker the more.",
  head: n => `head ${n}`, ofLayer: (kind, layer) => `${kinds.en[kind] ?? kind}, layer ${layer}`,
  looks: (q, k, share) => `${q} looks at ${k}: ${share}`,
  sample: "What the model writes", answers: "What the model answers", all: "All of them",
  sampleSay: "With the same random numbers each time; the first is from before it has learnt anything.",
  answersSay: "To the same examples of the test part each time; the first is from before it has learnt "
    + "anything.",
  seenAt: step => `after step ${step}`, table: "As a table", none: "There is none of this yet.",
  noAttention: "This model has no attention: there are no maps to show.",
  parts: "parts", chart: (what, from, to) => `Line chart: ${what}, from step ${from} to ${to}. A table follows.`,
};

const zh = {
  language: "语言", theme: "配色", auto: "跟随系统", light: "浅色", dark: "深色",
  step: "步", of: (step, all) => `第 ${step} 步，共 ${all} 步`, play: "播放", pause: "暂停",
  back: "后退", next: "前进", newest: "跟随最新",
  training: "训练正在进行，本页随之更新。", ended: "训练已结束。",
  replay: "这是回放：本页不向任何地方请求数据。",
  lost: "训练的服务器不再回应：训练已结束或被停止。到那时为止的内容都在这里；用 “tinytensor watch” 加上运行目录可以看到全部。",
  about: run => `${run.model}，任务 ${run.task}：${count(run.parameters)} 个参数；${run.data}；每一步学习 ${run.batch}。`,
  thinned: n => `为了让历史保持小巧，均匀地删去了 ${count(n)} 次观察。`,
  loss: "损失", train: "训练", val: "验证", baseline: "随机猜测",
  lossNow: (at, loss, of) => `第 ${at} 步：训练损失 ${loss}${of > 1 ? `（至多 ${of} 步的平均）` : ""}`,
  valNow: (at, loss) => `验证损失 ${loss}（第 ${at} 步）`,
  lr: "学习率", norm: "梯度范数", noLoss: "还没有完成任何一步。",
  clickable: "点击图表可跳到那一步。",
  gradients: "各层的梯度",
  gradientsSay: "每一部分梯度的范数（整个批次，裁剪之前）。若某条线远低于其他线，那一部分学得慢；若突然升高，训练可能会失败。",
  layer: "层", kind: "种类", share: "占比",
  activations: "各层的激活值",
  activationsSay: "每一层输出的数值如何分布；每次都用验证部分中相同的几个样本。",
  median: "中位数", p25: "第 25 百分位", p75: "第 75 百分位", p5: "第 5 百分位", p95: "第 95 百分位",
  middle: "中间一半", most: "第 5 到第 95 百分位",
  mean: "平均", std: "标准差", min: "最小", max: "最大", zero: "恰为 0", bad: "非有限",
  attention: "注意力",
  attentionSay: text => `模型读 “${text}” 时看向哪里：每一行在看，各列被看；颜色越深，看得越多。`,
  head: n => `头 ${n}`, ofLayer: (kind, layer) => `${kinds.zh[kind] ?? kind}，第 ${layer} 层`,
  looks: (q, k, share) => `${q} 看 ${k}：${share}`,
  sample: "模型写出的文字", answers: "模型的回答", all: "全部",
  sampleSay: "每次都用相同的随机数；第一个是它还什么都没学到的时候。",
  answersSay: "每次都回答测试部分中相同的例子；第一个是它还什么都没学到的时候。",
  seenAt: step => `第 ${step} 步之后`, table: "以表格显示", none: "还没有这项内容。",
  noAttention: "这个模型没有注意力，所以没有图可看。",
  parts: "部分", chart: (what, from, to) => `折线图：${what}，从第 ${from} 步到第 ${to} 步。后面有表格。`,
};

// kinds of attention, as the run calls them
const kinds = {
  en: {},
  zh: {"text to itself": "文字看自身", "input to itself": "输入看自身", "answer to itself": "回答看自身",
    "answer to input": "回答看输入"},
};

const count = n => typeof n === "number" ? n.toLocaleString("en") : String(n);

// a number in few characters; those that JSON has no word for come as words
export function short(value) {
  if (typeof value !== "number") return String(value ?? "");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace("-", "−").replace("e−", "e-").replace("e+", "e");
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3))).replace("-", "−");
}

export const percent = share => share > 0 && share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`;
export const languages = {en: ["English", en], zh: ["简体中文", zh]};
