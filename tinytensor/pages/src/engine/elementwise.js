/* Rules of ops that work element by element, and how such a rule is made.

   A rule has forward(inputs, params) -> array, and backward(g, inputs, out, params) -> one gradient
   per input, not yet summed over broadcast axes, or null where there is none. */

import { array, broadcast, sizeOf, spread } from "./arrays.js";

/** A rule from `f(...numbers, params)` and, per operand, its `slope(g, ...numbers, out, params)`,
    which gives g times the derivative: 0 where nothing flows, even if g is infinite. */
export function elementwise(f, ...slopes) {
  const places = (inputs) => {
    const shape = broadcast(...inputs.map((x) => x.shape));
    return [shape, inputs.map((x) => spread(x.shape, shape))];
  };
  return {
    pointwise: true,
    forward(inputs, params) {
      const [shape, at] = places(inputs);
      const out = new Float64Array(sizeOf(shape));
      for (let i = 0; i < out.length; i += 1) {
        out[i] = f(...inputs.map((x, n) => x.data[at[n][i]]), params);
      }
      return array(shape, out);
    },
    backward(g, inputs, out, params) {
      const [shape, at] = places(inputs);
      return inputs.map((_, operand) => {
        const slope = slopes[operand];
        if (!slope) return null;
        const dx = new Float64Array(sizeOf(shape));
        for (let i = 0; i < dx.length; i += 1) {
          dx[i] = slope(g.data[i], ...inputs.map((x, n) => x.data[at[n][i]]), out.data[i], params);
        }
        return array(shape, dx);
      });
    },
  };
}

/** For slopes that need no gate: g times a number. */
export const times = (slope) => (g, ...rest) => g * slope(...rest);

const nothing = () => 0;
const all = (g) => g;
const truth = (f) => elementwise((...xs) => (f(...xs) ? 1 : 0));

/** x ** y as C has it: 1 ** NaN is 1, and so is (-1) ** ±∞. */
export function power(x, y) {
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return x ** y;
}

function powerByBase(g, x, y) {
  const zero = y === 0 && (x === 0 || Number.isNaN(x));
  return g * (zero ? 0 : y * power(x, zero ? 1 : y - 1));
}

function powerByExponent(g, x, y, out) {
  const zero = (x === 0 && y >= 0) || (x === Infinity && y < 0);
  return g * (zero ? 0 : out * Math.log(x));
}

function lengthSlope(x, other, length) {
  if (length === 0) return 0;
  if (Math.abs(length) !== Infinity) return x / length;
  if (Math.abs(x) !== Infinity) return Math.sign(x) * 0;
  return Math.sign(x) * (Math.abs(other) === Infinity ? Math.SQRT1_2 : 1);
}

function overSquare(g, a, y, x) {
  const length = Math.hypot(y, x);
  return length === 0 || length === Infinity ? g * 0 : g * (a / length / length);
}

/** All of g to the larger, half where they are equal; to both where one is NaN. */
function toLarger(g, a, b) {
  if (a < b) return 0;
  return a === b ? 0.5 * g : g;
}

const takesX = (larger, smaller, y) => larger >= smaller || Number.isNaN(y);

function roundEven(x) {
  const below = Math.floor(x);
  const rest = x - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

function roundTo(x, { decimals = 0 }) {
  if (!Number.isFinite(x)) return x;
  const scale = 10 ** Math.abs(decimals);
  return decimals >= 0 ? roundEven(x * scale) / scale : roundEven(x / scale) * scale;
}

function floorDivide(x, y) {
  if (y === 0) return x / y;
  const rest = x % y;
  const q = (x - rest) / y - (rest !== 0 && y < 0 !== rest < 0 ? 1 : 0);
  return Math.floor(q) + (q - Math.floor(q) > 0.5 ? 1 : 0);
}

function remainder(x, y) {
  const r = x % y;
  return r !== 0 && r < 0 !== y < 0 ? r + y : r;
}

export const sigmoid = (x) => {
  const small = Math.exp(-Math.abs(x));
  return x >= 0 ? 1 / (1 + small) : small / (1 + small);
};

const share = (a, b) => (a === b ? 0.5 : sigmoid(a - b));

/** x limited to [low, high], either of which may be null. */
export function clip(x, low, high) {
  let y = x;
  if (low !== null && low !== undefined) y = Math.max(y, low);
  if (high !== null && high !== undefined) y = Math.min(y, high);
  return y;
}

function within(x, { low = null, high = null }) {
  return (low === null || x >= low) && (high === null || x <= high);
}

const LARGEST = { float16: 65504, float32: 3.4028234663852886e38 };

function plainNumber(x, { nan = 0, posinf = null, neginf = null, dtype }) {
  const largest = LARGEST[dtype] ?? Number.MAX_VALUE;
  if (Number.isNaN(x)) return nan;
  if (x === Infinity) return posinf ?? largest;
  return x === -Infinity ? (neginf ?? -largest) : x;
}

const logit = (x) => Math.log(x / (1 - x));

function logitSlope(g, x, out, { eps = null }) {
  const low = eps ?? 0;
  if (x < low || x > 1 - low) return eps === null ? NaN : 0;
  return g / (x * (1 - x));
}

function close(x, y, { rtol = 1e-5, atol = 1e-8, equal_nan: equalNaN = false }) {
  if (Number.isNaN(x) || Number.isNaN(y)) return equalNaN && Number.isNaN(x) && Number.isNaN(y);
  if (!Number.isFinite(x) || !Number.isFinite(y)) return x === y;
  return Math.abs(x - y) <= atol + rtol * Math.abs(y);
}

/** Towards 0, for conversions to integers; other dtypes keep the number. */
function cast(x, { dtype }) {
  if (/^u?int/.test(dtype)) return Math.trunc(x);
  return dtype === "bool" ? Number(x !== 0) : x;
}

const same = elementwise((x) => x, all);

export const elementary = {
  add: elementwise((x, y) => x + y, all, all),
  sub: elementwise((x, y) => x - y, all, (g) => -g),
  mul: elementwise((x, y) => x * y, (g, x, y) => g * y, (g, x) => g * x),
  div: elementwise((x, y) => x / y, (g, x, y) => g / y, (g, x, y, out) => (-g * out) / y),
  pow: elementwise(power, powerByBase, powerByExponent),
  neg: elementwise((x) => -x, (g) => -g),
  square: elementwise((x) => x * x, (g, x) => 2 * g * x),
  reciprocal: elementwise((x) => 1 / x, (g, x, out) => -g * out * out),
  abs: elementwise(Math.abs, times(Math.sign)),
  sqrt: elementwise(Math.sqrt, (g, x, out) => (g * 0.5) / out),
  rsqrt: elementwise((x) => 1 / Math.sqrt(x), (g, x, out) => g * -0.5 * out * out * out),
  hypot: elementwise(
    (x, y) => Math.hypot(x, y),
    (g, x, y, out) => g * lengthSlope(x, y, out),
    (g, x, y, out) => g * lengthSlope(y, x, out),
  ),
  lerp: elementwise(
    (x, y, w) => (w < 0.5 ? x + w * (y - x) : y - (1 - w) * (y - x)),
    (g, x, y, w) => g * (1 - w),
    (g, x, y, w) => g * w,
    (g, x, y) => g * (y - x),
  ),

  sign: elementwise(Math.sign, nothing),
  floor: elementwise(Math.floor, nothing),
  ceil: elementwise(Math.ceil, nothing),
  trunc: elementwise(Math.trunc, nothing),
  round: elementwise(roundTo, nothing),
  floor_divide: elementwise(floorDivide, nothing, nothing),
  remainder: elementwise(remainder, all, (g, x, y) => -g * floorDivide(x, y)),
  fmod: elementwise((x, y) => x % y, all, (g, x, y) => -g * Math.trunc(x / y)),

  where: elementwise(
    (c, x, y) => (c !== 0 ? x : y),
    null,
    (g, c) => (c !== 0 ? g : 0),
    (g, c) => (c === 0 ? g : 0),
  ),
  masked_fill: elementwise((x, mask, p) => (mask ? p.value : x), (g, x, mask) => (mask ? 0 : g)),
  maximum: elementwise(
    (x, y) => Math.max(x, y),
    (g, x, y) => toLarger(g, x, y),
    (g, x, y) => toLarger(g, y, x),
  ),
  minimum: elementwise(
    (x, y) => Math.min(x, y),
    (g, x, y) => toLarger(g, y, x),
    (g, x, y) => toLarger(g, x, y),
  ),
  fmax: elementwise(
    (x, y) => (takesX(x, y, y) ? x : y),
    (g, x, y) => (takesX(x, y, y) ? g : 0),
    (g, x, y) => (takesX(x, y, y) ? 0 : g),
  ),
  fmin: elementwise(
    (x, y) => (takesX(y, x, y) ? x : y),
    (g, x, y) => (takesX(y, x, y) ? g : 0),
    (g, x, y) => (takesX(y, x, y) ? 0 : g),
  ),
  clip: elementwise((x, p) => clip(x, p.low, p.high), (g, x, out, p) => (within(x, p) ? g : 0)),
  nan_to_num: elementwise(plainNumber, (g, x) => (Number.isFinite(x) ? g : 0)),

  exp: elementwise(Math.exp, (g, x, out) => g * out),
  exp2: elementwise((x) => 2 ** x, (g, x, out) => g * Math.LN2 * out),
  expm1: elementwise(Math.expm1, (g, x, out) => g * (out + 1)),
  log: elementwise(Math.log, (g, x) => g / x),
  log2: elementwise(Math.log2, (g, x) => g / (x * Math.LN2)),
  log10: elementwise(Math.log10, (g, x) => g / (x * Math.LN10)),
  log1p: elementwise(Math.log1p, (g, x) => g / (1 + x)),
  logaddexp: elementwise(
    (x, y) => (x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))),
    (g, x, y) => g * share(x, y),
    (g, x, y) => g * share(y, x),
  ),
  xlogy: elementwise(
    (x, y) => x * (x === 0 && !Number.isNaN(y) ? 0 : Math.log(y)),
    (g, x, y) => (g === 0 && !Number.isNaN(y) ? 0 : g * (x === 0 && y <= 0 ? 0 : Math.log(y))),
    (g, x, y) => g * (x === 0 && y === 0 ? 0 : x / y),
  ),
  logit: elementwise((x, { eps = null }) => logit(eps === null ? x : clip(x, eps, 1 - eps)), logitSlope),

  sin: elementwise(Math.sin, times(Math.cos)),
  cos: elementwise(Math.cos, (g, x) => -g * Math.sin(x)),
  tan: elementwise(Math.tan, (g, x, out) => g * (1 + out * out)),
  asin: elementwise(Math.asin, (g, x) => g / Math.sqrt((1 - x) * (1 + x))),
  acos: elementwise(Math.acos, (g, x) => -g / Math.sqrt((1 - x) * (1 + x))),
  atan: elementwise(Math.atan, (g, x) => g / (1 + x * x)),
  atan2: elementwise(
    (y, x) => Math.atan2(y, x),
    (g, y, x) => overSquare(g, x, y, x),
    (g, y, x) => overSquare(-g, y, y, x),
  ),
  sinh: elementwise(Math.sinh, times(Math.cosh)),
  cosh: elementwise(Math.cosh, times(Math.sinh)),
  tanh: elementwise(Math.tanh, (g, x, out) => g * (1 - out * out)),
  asinh: elementwise(Math.asinh, (g, x) => g / Math.hypot(x, 1)),
  acosh: elementwise(Math.acosh, (g, x) => g / Math.sqrt(x - 1) / Math.sqrt(x + 1)),
  atanh: elementwise(Math.atanh, (g, x) => g / ((1 - x) * (1 + x))),

  equal: truth((x, y) => x === y),
  not_equal: truth((x, y) => x !== y),
  less: truth((x, y) => x < y),
  less_equal: truth((x, y) => x <= y),
  greater: truth((x, y) => x > y),
  greater_equal: truth((x, y) => x >= y),
  logical_and: truth((x, y) => x !== 0 && y !== 0),
  logical_or: truth((x, y) => x !== 0 || y !== 0),
  logical_xor: truth((x, y) => (x !== 0) !== (y !== 0)),
  logical_not: truth((x) => x === 0),
  isfinite: truth((x) => Number.isFinite(x)),
  isnan: truth((x) => Number.isNaN(x)),
  isinf: truth((x) => Math.abs(x) === Infinity),
  isclose: truth(close),

  alias: same,
  copy: same,
  to_device: same,
  astype: elementwise(cast, all),
  dropout: elementwise(
    (x, keep, p) => x * keptScale(p) * keep,
    (g, x, keep, out, p) => g * keptScale(p) * keep,
  ),
};

function keptScale({ p }) {
  return p < 1 ? 1 / (1 - p) : 1;
}
