/* Rules of losses: an amount per element or row, and how the amounts are summed up. */

import { array, sizeOf, spread, zeros } from "./arrays.js";
import { clip, sigmoid } from "./elementwise.js";

const share = (shape, reduction) => 1 / (reduction === "batchmean" ? (shape[0] ?? 1) : sizeOf(shape));

/** The losses as their mean, their sum, or as they are. */
function reduced(losses, reduction) {
  if (reduction === "none") return losses;
  const sum = losses.data.reduce((a, b) => a + b, 0);
  const scale = losses.data.length ? share(losses.shape, reduction) : NaN;
  return array([], Float64Array.of(reduction === "sum" ? sum : sum * scale));
}

/** A rule from `f(...numbers, params)`, the loss of an element, and its slopes per operand. */
function loss(f, ...slopes) {
  const places = (inputs) => inputs.map((x) => x && spread(x.shape, inputs[0].shape));
  const numbers = (inputs, at, i) => inputs.map((x, n) => (x ? x.data[at[n][i]] : null));
  return {
    forward(inputs, params) {
      const at = places(inputs);
      const each = inputs[0].data.map((_, i) => f(...numbers(inputs, at, i), params));
      return reduced(array(inputs[0].shape, each), params.reduction ?? "mean");
    },
    backward(g, inputs, out, params) {
      const { shape, data } = inputs[0];
      const at = places(inputs);
      const reduction = params.reduction ?? "mean";
      const scale = reduction === "none" || reduction === "sum" ? 1 : share(shape, reduction);
      return inputs.map((x, n) => {
        if (!x || !slopes[n]) return null;
        const dx = data.map((_, i) => {
          const own = reduction === "none" ? g.data[i] : g.data[0];
          return slopes[n](own * scale, ...numbers(inputs, at, i), params);
        });
        return array(shape, dx);
      });
    },
  };
}

/** A loss of the difference of two operands. */
const ofDifference = (f, slope) =>
  loss(
    (x, y, p) => f(x - y, p),
    (g, x, y, p) => slope(g, x - y, p),
    (g, x, y, p) => -slope(g, x - y, p),
  );

function huber(size, delta) {
  const inner = Math.min(size, delta);
  return inner * (size - 0.5 * inner);
}

const cutLog = (x) => Math.max(Math.log(x), -100);
const cutLog1p = (x) => Math.max(Math.log1p(x), -100);

const weighed = (x, weight) => (weight === null ? x : x * weight);

/** -ln σ(x), without overflow. */
const costOfTrue = (x) => Math.max(-x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

/** What is impossible costs nothing where it does not happen. */
const unlessNever = (weight, cost) => (weight === 0 && Math.abs(cost) === Infinity ? 0 : weight * cost);

function crossEntropyOf(x, y, pos) {
  return unlessNever(weighed(y, pos), costOfTrue(x)) + unlessNever(1 - y, costOfTrue(-x));
}

function logitsSlope(x, y, pos) {
  const s = sigmoid(x);
  return pos === null ? s - y : s * (1 + (pos - 1) * y) - pos * y;
}

const logitsTargetSlope = (x, y, pos) => -x + (pos === null ? 0 : (pos - 1) * costOfTrue(x));

/** Probability of the target, and ln target - x, 0 for a target of 0. */
function divergence(x, target, { log_target: isLog = false }) {
  const p = isLog ? Math.exp(target) : target;
  if (p === 0) return [p, 0];
  return [p, (isLog ? target : Math.log(target)) - x];
}

function divergenceTargetSlope(g, x, target, params) {
  const [p, difference] = divergence(x, target, params);
  if (params.log_target) return g * (p * (difference + 1));
  return g * (p === 0 ? -Infinity : difference + 1);
}

/** The rows of scores, and which of them count: [rows, targets, counts, their number]. */
function classRows(scores, target, { ignore_index: ignored = -100 }) {
  const width = scores.shape.at(-1);
  const rows = Array.from(target.data, (_, i) => scores.data.subarray(i * width, (i + 1) * width));
  return [rows, Array.from(target.data), Array.from(target.data, (id) => id !== ignored)];
}

/** Row losses summed up: the mean of nothing is NaN. */
function summedRows(losses, shape, reduction, weight) {
  if (reduction === "none") return array(shape, Float64Array.from(losses));
  const sum = losses.reduce((a, b) => a + b, 0);
  return array([], Float64Array.of(reduction === "sum" ? sum : weight === 0 ? NaN : sum / weight));
}

function logTotal(row) {
  const top = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const m = top === -Infinity ? 0 : top;
  const sum = row.reduce((a, x) => a + Math.exp(x - m), 0);
  return [m, Math.log(top === -Infinity ? 1 : sum)];
}

const crossEntropy = {
  forward([logits, target], params) {
    const { label_smoothing: smooth = 0, reduction = "mean" } = params;
    const [rows, ids, counts] = classRows(logits, target, params);
    const losses = rows.map((row, i) => {
      if (!counts[i]) return 0;
      const [m, log] = logTotal(row);
      const own = log - (row[ids[i]] - m);
      if (!smooth) return own;
      return (1 - smooth) * own + smooth * (log - row.reduce((a, x) => a + (x - m), 0) / row.length);
    });
    return summedRows(losses, target.shape, reduction, counts.filter(Boolean).length);
  },
  backward(g, [logits, target], out, params) {
    const { label_smoothing: smooth = 0, reduction = "mean" } = params;
    const [rows, ids, counts] = classRows(logits, target, params);
    const dx = zeros(logits.shape);
    const number = reduction === "mean" ? Math.max(1, counts.filter(Boolean).length) : 1;
    rows.forEach((row, i) => {
      if (!counts[i]) return;
      const [m, log] = logTotal(row);
      const scale = (reduction === "none" ? g.data[i] : g.data[0]) / number;
      row.forEach((x, j) => {
        const wanted = (j === ids[i] ? 1 - smooth : 0) + (smooth ? smooth / row.length : 0);
        dx.data[i * row.length + j] = (Math.exp(x - m - log) - wanted) * scale;
      });
    });
    return [dx, null];
  },
};

const nllLoss = {
  forward([scores, target, weight], params) {
    const [rows, ids, counts] = classRows(scores, target, params);
    const weights = ids.map((id, i) => (counts[i] ? (weight ? weight.data[id] : 1) : 0));
    const losses = rows.map((row, i) => (counts[i] ? -row[ids[i]] * weights[i] : 0));
    const whole = weights.reduce((a, b) => a + b, 0);
    return summedRows(losses, target.shape, params.reduction ?? "mean", whole);
  },
  backward(g, [scores, target, weight], out, params) {
    const [rows, ids, counts] = classRows(scores, target, params);
    const reduction = params.reduction ?? "mean";
    const weights = ids.map((id, i) => (counts[i] ? (weight ? weight.data[id] : 1) : 0));
    const whole = reduction === "mean" ? weights.reduce((a, b) => a + b, 0) || 1 : 1;
    const dx = zeros(scores.shape);
    const dweight = weight ? zeros(weight.shape) : null;
    rows.forEach((row, i) => {
      if (!counts[i]) return;
      const own = (reduction === "none" ? g.data[i] : g.data[0]) / whole;
      dx.data[i * row.length + ids[i]] = -own * weights[i];
      if (dweight) dweight.data[ids[i]] += own * (-row[ids[i]] - (reduction === "mean" ? out.data[0] : 0));
    });
    return [dx, null, dweight];
  },
};

export const losses = {
  mse_loss: ofDifference((d) => d * d, (g, d) => 2 * g * d),
  l1_loss: ofDifference(Math.abs, (g, d) => g * Math.sign(d)),
  smooth_l1_loss: ofDifference(
    (d, { beta = 1 }) => (beta ? huber(Math.abs(d), beta) / beta : Math.abs(d)),
    (g, d, { beta = 1 }) => g * (beta ? clip(d / beta, -1, 1) : Math.sign(d)),
  ),
  huber_loss: ofDifference(
    (d, { delta = 1 }) => huber(Math.abs(d), delta),
    (g, d, { delta = 1 }) => g * clip(d, -delta, delta),
  ),
  binary_cross_entropy: loss(
    (p, y, w) => weighed((y - 1) * cutLog1p(-p) - y * cutLog(p), w),
    (g, p, y, w) => weighed(g, w) * ((p - y) / Math.max(p * (1 - p), 1e-12)),
    (g, p, y, w) => weighed(g, w) * (cutLog1p(-p) - cutLog(p)),
    (g, p, y) => g * ((y - 1) * cutLog1p(-p) - cutLog(p) * y),
  ),
  binary_cross_entropy_with_logits: loss(
    (x, y, w, pos) => weighed(crossEntropyOf(x, y, pos), w),
    (g, x, y, w, pos) => weighed(g, w) * logitsSlope(x, y, pos),
    (g, x, y, w, pos) => weighed(g, w) * logitsTargetSlope(x, y, pos),
    (g, x, y, w, pos) => g * crossEntropyOf(x, y, pos),
    (g, x, y, w) => weighed(g, w) * y * costOfTrue(x),
  ),
  kl_div: loss(
    (x, target, p) => divergence(x, target, p).reduce((a, b) => a * b),
    (g, x, target, { log_target: isLog = false }) => -g * (isLog ? Math.exp(target) : target),
    divergenceTargetSlope,
  ),
  cross_entropy: crossEntropy,
  nll_loss: nllLoss,
};

