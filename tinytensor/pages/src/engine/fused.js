/* Rules of softmax, of normalisations and of attention. */

import { array, sizeOf } from "./arrays.js";
import { activations } from "./activations.js";
import { elementary, elementwise } from "./elementwise.js";
import { products } from "./products.js";
import { largest, lines, reductions, total } from "./reductions.js";
import { shapes } from "./shapes.js";
import { composed } from "./tape.js";

/** Exponentials relative to the largest, their sum, and that; a line of -∞ gives zeros over 1. */
function exponentials(xs) {
  const top = largest(xs);
  const m = top === -Infinity ? 0 : top;
  const exps = xs.map((x) => Math.exp(x - m));
  return [exps, top === -Infinity ? 1 : total(exps), m];
}

function softmax(xs) {
  const [exps, sum] = exponentials(xs);
  return exps.map((e) => e / sum);
}

function softmaxSlope(g, xs, out) {
  const weighted = g.map((x, i) => x * out[i]);
  const sum = total(weighted);
  return weighted.map((w, i) => w - out[i] * sum);
}

function logSoftmax(xs) {
  const [, sum, m] = exponentials(xs);
  return xs.map((x) => x - m - Math.log(sum));
}

function logSoftmaxSlope(g, xs, out) {
  const sum = total(g);
  return g.map((x, i) => x - Math.exp(out[i]) * sum);
}

const onLines = { softmax: lines(softmax, softmaxSlope), log_softmax: lines(logSoftmax, logSoftmaxSlope) };

// `-∞ where masked`: the mask itself has no gradient, a number added to the scores has
const own = {
  masked: elementwise((x, allowed) => (allowed ? x : -Infinity), (g, x, allowed) => (allowed ? g : 0)),
};

const parts = { ...elementary, ...activations, ...shapes, ...reductions, ...products, ...onLines, ...own };

/** (x - mean) / √(var + eps) over these axes. */
function standardised(run, x, axis, eps) {
  const over = { axis, keepdims: true };
  const centred = run("sub", [x, run("mean", [x], over)]);
  const variance = run("mean", [run("mul", [centred, centred])], over);
  return run("div", [centred, run("sqrt", [run("add", [variance, eps])])]);
}

function scaled(run, x, weight, bias, shape = null) {
  const fit = (p) => (shape ? run("reshape", [p], { shape }) : p);
  const out = weight ? run("mul", [x, fit(weight)]) : x;
  return bias ? run("add", [out, fit(bias)]) : out;
}

/** The shape in which one number per channel broadcasts against (batch, channels, ...). */
const perChannel = (x) => [1, -1, ...x.value.shape.slice(2).map(() => 1)];

function layerNorm(run, [x, weight, bias], { eps = 1e-5 }) {
  return scaled(run, standardised(run, x, -1, eps), weight, bias);
}

const EPSILON = { float64: 2 ** -52, float16: 2 ** -23 };

function rmsNorm(run, [x, weight], { eps = null, dtype }) {
  const least = eps ?? EPSILON[dtype] ?? 2 ** -23;
  const square = run("mean", [run("mul", [x, x])], { axis: -1, keepdims: true });
  const out = run("div", [x, run("sqrt", [run("add", [square, least])])]);
  return scaled(run, out, weight, null);
}

function batchNorm(run, [x, mean, variance, weight, bias], { own: byItself = true, eps = 1e-5 }) {
  const shape = perChannel(x);
  const axes = [0, ...x.value.shape.slice(2).map((_, i) => i + 2)];
  const fit = (p) => run("reshape", [p], { shape });
  const out = byItself
    ? standardised(run, x, axes, eps)
    : run("div", [run("sub", [x, fit(mean)]), run("sqrt", [run("add", [fit(variance), eps])])]);
  return scaled(run, out, weight, bias, shape);
}

function groupNorm(run, [x, weight, bias], { num_groups: groups = 1, eps = 1e-5 }) {
  const { shape } = x.value;
  const width = sizeOf(shape.slice(1)) / groups;
  const rows = run("reshape", [x], { shape: [shape[0], groups, width] });
  const out = run("reshape", [standardised(run, rows, -1, eps)], { shape });
  return scaled(run, out, weight, bias, perChannel(x));
}

/** x1 · x2 over both lengths, which count at least `eps`. */
function cosine(run, [x1, x2], { axis = 1, eps = 1e-8 }) {
  const dot = run("sum", [run("mul", [x1, x2])], { axis });
  const both = run("mul", [x1, x2]).value.shape;
  const size = (x) => {
    const wide = run("broadcast_to", [x], { shape: both });
    const square = run("sum", [run("mul", [wide, wide])], { axis });
    return run("sqrt", [run("clip", [square], { low: eps * eps })]);
  };
  return run("div", [dot, run("mul", [size(x1), size(x2)])]);
}

/** (queries, keys): 1 where a query may see a key; the last query sees all keys. */
function causal(rows, columns) {
  const allowed = Float64Array.from({ length: rows * columns }, (_, i) =>
    Number((i % columns) <= Math.floor(i / columns) + columns - rows),
  );
  return { value: array([rows, columns], allowed, "bool"), grad: null };
}

function attention(run, [q, k, v, mask = null, keep = null], params) {
  const { is_causal: isCausal = false, dropout = 0, scale = null } = params;
  const width = q.value.shape.at(-1);
  const factor = scale ?? 1 / Math.sqrt(Math.max(1, width));
  const turned = run("swapaxes", [k], { axis1: -1, axis2: -2 });
  let scores = run("mul", [run("matmul", [q, turned]), factor]);
  if (isCausal) scores = run("masked", [scores, causal(...scores.value.shape.slice(-2))]);
  if (mask) scores = run(mask.value.dtype === "bool" ? "masked" : "add", [scores, mask]);
  let weights = run("softmax", [scores], { axis: -1 });
  if (keep) weights = run("dropout", [weights, keep], { p: dropout });
  return run("matmul", [weights, v]);
}

function selfAttention(run, [qkv, keep = null], { heads = 1, ...params }) {
  const shape = qkv.value.shape;
  const lead = shape.slice(0, -2);
  const [time, width] = shape.slice(-2);
  const part = (i) => {
    const index = [{ ellipsis: true }, { slice: [(i * width) / 3, ((i + 1) * width) / 3, null] }];
    const x = run("getitem", [qkv], { index });
    const split = run("reshape", [x], { shape: [...lead, time, heads, width / 3 / heads] });
    return run("swapaxes", [split], { axis1: -2, axis2: -3 });
  };
  const y = attention(run, [part(0), part(1), part(2), null, keep], params);
  const merged = run("swapaxes", [y], { axis1: -2, axis2: -3 });
  return run("reshape", [merged], { shape: [...lead, time, width / 3] });
}

const build = (f) => composed(parts, f);

export const fused = {
  ...onLines,
  layer_norm: build(layerNorm),
  rms_norm: build(rmsNorm),
  batch_norm: build(batchNorm),
  group_norm: build(groupNorm),
  cosine_similarity: build(cosine),
  scaled_dot_product_attention: build(attention),
  self_attention: build(selfAttention),
};
