/* Rules of activation functions, which work element by element, and of the error function. */

import { clip, elementwise, sigmoid, times } from "./elementwise.js";

const ROOT_PI = Math.sqrt(Math.PI);

/** The error function: a series of terms of one sign near 0, a continued fraction further out. */
export function erf(x) {
  const size = Math.abs(x);
  if (size > 2.5) return Math.sign(x) * (1 - erfcTail(size));
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / ROOT_PI) * Math.exp(-x * x) * sum;
}

/** 1 - erf x for x > 1: e^-x² / √π over x + (1/2) / (x + 1 / (x + (3/2) / (x + ...))). */
function erfcTail(x) {
  if (x > 27) return 0;
  let fraction = x;
  for (let n = 120; n >= 1; n -= 1) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / ROOT_PI / fraction;
}

export const erfc = (x) => (x > 1.5 ? erfcTail(x) : 1 - erf(x));

/** The slope of erf. */
const bell = (x) => {
  const near = clip(x, -100, 100);
  return (2 / ROOT_PI) * Math.exp(-near * near);
};

/** Beyond this every smooth activation is 0 or x: ∞ would make 0 · ∞ of what vanishes there. */
const FAR = 1000;

function siluSlope(x) {
  const near = clip(x, -FAR, FAR);
  const s = sigmoid(near);
  return s * (1 + near * (1 - s));
}

/** e = eˣ, d = e² + 2e + 2 and tanh(ln(1 + e)) = (e² + 2e) / d. */
function mishParts(x) {
  const e = Math.exp(Math.min(x, 40));
  const n = e * (e + 2);
  return [e, n + 2, n / (n + 2)];
}

function mishSlope(x) {
  const [e, d, t] = mishParts(x);
  return t + clip(x, -FAR, 40) * ((4 * e * (1 + e)) / d / d);
}

const A = 0.044715;
const C = Math.sqrt(2 / Math.PI);

/** How much of x gelu lets through, and how fast that grows. */
function geluGate(x, approximate) {
  if (approximate !== "tanh") {
    return [0.5 * (1 + erf(x * Math.SQRT1_2)), Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI)];
  }
  const h = 0.5 * (1 + Math.tanh(C * (x + A * x * x * x)));
  return [h, 2 * C * (1 + 3 * A * x * x) * h * (1 - h)];
}

function gelu(x, { approximate = "none" }) {
  if (x > FAR) return x;
  const near = clip(x, -FAR, FAR);
  return near * geluGate(near, approximate)[0];
}

function geluSlope(g, x, out, { approximate = "none" }) {
  const near = clip(x, -FAR, FAR);
  const [gate, growth] = geluGate(near, approximate);
  return g * (gate + near * growth);
}

function softplus(x, { beta = 1, threshold = 20 }) {
  const scaled = x * beta;
  const curve = Math.log1p(Math.exp(-Math.abs(scaled))) * (scaled <= threshold ? 1 : 0);
  return (Math.max(scaled, 0) + curve) / beta;
}

function softplusSlope(g, x, out, { beta = 1, threshold = 20 }) {
  const s = sigmoid(x * beta);
  return g * (s + (1 - s) * (x * beta > threshold ? 1 : 0));
}

const softsign = (x) => (Math.abs(x) === Infinity ? Math.sign(x) : x / (1 + Math.abs(x)));

const leak = (x, slope) => (slope <= 1 ? Math.max : Math.min)(x, x * slope);

/** slope x where x > 0, else height (e^(rate x) - 1). */
function exponential(settings) {
  const forward = (x, p) => {
    const { height, slope = 1, rate = 1 } = settings(p);
    return Math.max(x, 0) * slope + Math.expm1(Math.min(x, 0) * rate) * height;
  };
  const backward = (g, x, out, p) => {
    const { low, slope = 1, rate = 1 } = settings(p);
    const dx = g * low * Math.exp(Math.min(x, 0) * rate);
    return low === slope ? dx : dx + (x > 0 ? g * (slope - low) : 0);
  };
  return elementwise(forward, backward);
}

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;
const SELU = { height: SELU_SCALE * SELU_ALPHA, low: SELU_SCALE * SELU_ALPHA, slope: SELU_SCALE };

export const activations = {
  sigmoid: elementwise(sigmoid, (g, x, out) => g * (out * (1 - out))),
  log_sigmoid: elementwise(
    (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
    (g, x) => g * sigmoid(-x),
  ),
  softplus: elementwise(softplus, softplusSlope),
  softsign: elementwise(softsign, (g, x) => g / (1 + Math.abs(x)) / (1 + Math.abs(x))),
  silu: elementwise((x) => Math.max(x, -FAR) * sigmoid(x), times(siluSlope)),
  mish: elementwise((x) => Math.max(x, -FAR) * mishParts(x)[2], times(mishSlope)),
  gelu: elementwise(gelu, geluSlope),
  erf: elementwise(erf, times(bell)),
  erfc: elementwise(erfc, (g, x) => -g * bell(x)),

  relu: elementwise((x) => Math.max(x, 0), (g, x, out) => (out <= 0 ? 0 : g)),
  leaky_relu: elementwise(
    (x, { negative_slope: slope = 0.01 }) => leak(x, slope),
    (g, x, out, { negative_slope: slope = 0.01 }) => (x > 0 ? g : g * slope),
  ),
  prelu: elementwise(
    (x, weight) => (x > 0 ? x : x * weight),
    (g, x, weight) => (x > 0 ? g : g * weight),
    (g, x) => (x > 0 ? 0 : g * x),
  ),
  elu: exponential(({ alpha = 1 }) => ({ height: alpha, low: alpha })),
  selu: exponential(() => SELU),
  celu: exponential(({ alpha = 1 }) => ({ height: alpha, low: 1, rate: 1 / alpha })),
  hardtanh: elementwise(
    (x, { min_val: low = -1, max_val: high = 1 }) => clip(x, low, high),
    (g, x, out, { min_val: low = -1, max_val: high = 1 }) => (x > low && x < high ? g : 0),
  ),
  hard_sigmoid: elementwise(
    (x) => clip(x / 6 + 0.5, 0, 1),
    (g, x) => (x > -3 && x < 3 ? g / 6 : 0),
  ),
  hard_swish: elementwise(
    (x) => Math.max(x, -3) * clip(x / 6 + 0.5, 0, 1),
    (g, x) => {
      if (x >= 3) return g;
      return x <= -3 ? 0 : g * (x / 3 + 0.5);
    },
  ),
};
