/* Rules of reductions, which make one number of a group of elements, and of functions of lines. */

import { array, axisOf, groupsOf, zeros } from "./arrays.js";

/** A rule from `f(elements, params)` and `slope(g, elements, out, params)`, one number each. */
export function reduction(f, slope = null) {
  return {
    reduces: true,
    forward([x], params) {
      const { shape, kept, groups } = groupsOf(x.shape, params.axis);
      const out = Float64Array.from(groups, (group) => f(group.length ? pick(x, group) : [], params));
      return array(params.keepdims ? kept : shape, out);
    },
    backward(g, [x], out, params) {
      if (!slope) return [null];
      const dx = zeros(x.shape);
      groupsOf(x.shape, params.axis).groups.forEach((group, n) => {
        const parts = slope(g.data[n], pick(x, group), out.data[n], params);
        group.forEach((position, i) => {
          dx.data[position] = parts[i];
        });
      });
      return [dx];
    },
  };
}

/** The elements at these positions, as a plain list. */
const pick = (x, group) => Array.from(group, (position) => x.data[position]);

const total = (xs) => xs.reduce((sum, x) => sum + x, 0);
const mean = (xs) => total(xs) / xs.length;
const largest = (xs) => xs.reduce((a, b) => Math.max(a, b), -Infinity);
const smallest = (xs) => xs.reduce((a, b) => Math.min(a, b), Infinity);

/** g in equal parts to the elements that hit. */
function shared(g, hits) {
  const ties = hits.filter(Boolean).length;
  return hits.map((hit) => (hit ? g / ties : 0));
}

const toExtreme = (g, xs, out) => shared(g, xs.map((x) => x === out || Number.isNaN(x)));

/** The product of all others, at each element: no division, which would be 0 / 0 at a zero. */
function products(g, xs) {
  const before = [];
  let product = 1;
  xs.forEach((x) => {
    before.push(product);
    product *= x;
  });
  product = 1;
  const out = new Array(xs.length);
  for (let i = xs.length - 1; i >= 0; i -= 1) {
    out[i] = g * before[i] * product;
    product *= xs[i];
  }
  return out;
}

function logsumexp(xs) {
  if (!xs.length) return -Infinity;
  const top = largest(xs);
  if (Number.isNaN(top) || Math.abs(top) === Infinity) return top;
  return Math.log(total(xs.map((x) => Math.exp(x - top)))) + top;
}

function logsumexpSlope(g, xs, out) {
  if (Math.abs(out) !== Infinity) return xs.map((x) => g * Math.exp(x - out));
  const tops = xs.filter((x) => x === Infinity).length;
  return xs.map((x) => g * (x === Infinity ? 1 / tops : 0));
}

/** x less its mean, by way of the differences to the first element: equal ones deviate by 0. */
function centred(xs) {
  const shifted = xs.map((x) => x - xs[0]);
  const middle = mean(shifted);
  return shifted.map((x) => x - middle);
}

const freedom = (xs, { ddof = 0 }) => Math.max(0, xs.length - ddof);

const variance = (xs, params) => total(centred(xs).map((d) => d * d)) / freedom(xs, params);

function deviationSlope(g, xs, out, params) {
  const scale = g / (freedom(xs, params) * (out === 0 ? 1 : out));
  return centred(xs).map((d) => d * scale);
}

function norm(xs, { p = 2 }) {
  const sizes = xs.map(Math.abs);
  if (p === 0) return xs.filter((x) => x !== 0).length;
  if (p === 1) return total(sizes);
  if (p === Infinity) return largest(sizes);
  if (p === -Infinity || !xs.length) return xs.length ? smallest(sizes) : 0;
  const extreme = (p > 0 ? largest : smallest)(sizes);
  const unit = extreme > 0 && extreme < Infinity ? extreme : 1;
  const scaled = sizes.map((s) => (p < 0 && s / unit === 0 ? 1 : s / unit));
  return total(scaled.map((s) => s ** p)) ** (1 / p) * extreme;
}

function normSlope(g, xs, out, { p = 2 }) {
  if (p === 0) return xs.map(() => 0);
  if (p === 1) return xs.map((x) => g * Math.sign(x));
  if (Math.abs(p) === Infinity) {
    const parts = shared(g, xs.map((x) => Math.abs(x) === out || Number.isNaN(x)));
    return parts.map((part, i) => part * Math.sign(xs[i]));
  }
  if (out === Infinity) {
    const part = Math.max(1, xs.filter((x) => Math.abs(x) === Infinity).length) ** (1 / p - 1);
    return xs.map((x) => g * (Math.abs(x) === Infinity ? Math.sign(x) * part : 0));
  }
  return xs.map((x) => {
    if (out === 0 || x === 0) return g * 0;
    return g * Math.sign(x) * (Math.abs(x) / out) ** (p - 1);
  });
}

/** The place of the first element that is largest; the first NaN counts as that. */
function argmax(xs, better = (a, b) => a > b) {
  return xs.reduce((best, x, i) => {
    if (Number.isNaN(xs[best])) return best;
    return Number.isNaN(x) || better(x, xs[best]) ? i : best;
  }, 0);
}

/** A rule from `f(line, params)` and `slope(g, line, out, params)` along one axis, both lists. */
export function lines(f, slope = null, defaultAxis = -1) {
  const each = (shape, params, visit) => {
    const axis = shape.length ? axisOf(params.axis ?? defaultAxis, shape.length) : null;
    groupsOf(shape, axis).groups.forEach(visit);
  };
  return {
    alongLines: true,
    forward([x], params) {
      const out = zeros(x.shape);
      each(x.shape, params, (group) => {
        f(pick(x, group), params).forEach((value, i) => {
          out.data[group[i]] = value;
        });
      });
      return out;
    },
    backward(g, [x], out, params) {
      if (!slope) return [null];
      const dx = zeros(x.shape);
      each(x.shape, params, (group) => {
        slope(pick(g, group), pick(x, group), pick(out, group), params).forEach((value, i) => {
          dx.data[group[i]] = value;
        });
      });
      return [dx];
    },
  };
}

/** A rule from `order(line, params)`: the places that elements are taken from, along one axis.
    Two outputs, the elements and the places. */
function picks(order) {
  const each = ([x], params, visit) => {
    const axis = axisOf(params.axis ?? -1, x.shape.length);
    const { groups, kept } = groupsOf(x.shape, axis);
    const orders = groups.map((group) => order(pick(x, group), params));
    const count = order(new Array(x.shape[axis]).fill(0), params).length;
    const shape = kept.map((n, i) => (i === axis ? count : n));
    groupsOf(shape, axis).groups.forEach((to, n) => visit(to, groups[n], orders[n]));
    return shape;
  };
  return {
    several: true,
    forward(inputs, params) {
      const found = [];
      const shape = each(inputs, params, (...lists) => found.push(lists));
      const [values, places] = [zeros(shape), zeros(shape)];
      found.forEach(([to, from, places_]) => {
        places_.forEach((place, i) => {
          values.data[to[i]] = inputs[0].data[from[place]];
          places.data[to[i]] = place;
        });
      });
      return [values, places];
    },
    backward([g], inputs, outs, params) {
      if (!g) return [null];
      const dx = zeros(inputs[0].shape);
      each(inputs, params, (to, from, places) => {
        places.forEach((place, i) => {
          dx.data[from[place]] += g.data[to[i]];
        });
      });
      return [dx];
    },
  };
}

/** Places in ascending order of what is there, NaN last; equal ones keep their order. */
function ascending(xs) {
  const rank = (x) => (Number.isNaN(x) ? 1 : 0);
  const compare = (a, b) => rank(xs[a]) - rank(xs[b]) || xs[a] - xs[b] || a - b;
  return xs.map((_, i) => i).sort((a, b) => compare(a, b) || a - b);
}

/** As {@link ascending} read backwards, but equal ones keep their order here too. */
function sorted(xs, { descending = false }) {
  if (!descending) return ascending(xs);
  const last = xs.length - 1;
  return ascending([...xs].reverse()).reverse().map((i) => last - i);
}

/** The last place up to each that has the running extreme; from a NaN on that of the last NaN. */
const running = (better) => (xs) => {
  let best = 0;
  return xs.map((x, i) => {
    if (Number.isNaN(x) || (!Number.isNaN(xs[best]) && (better(x, xs[best]) || x === xs[best]))) best = i;
    return best;
  });
};

function cumulated(xs) {
  let sum = 0;
  return xs.map((x) => (sum += x));
}

const reversed = (xs) => [...xs].reverse();

/** What comes before an element times what g sums up after it: right at zeros too. */
function cumprodSlope(g, xs, out) {
  const dx = new Array(xs.length);
  let s = 0;
  for (let i = xs.length - 1; i >= 0; i -= 1) {
    s = g[i] + (i + 1 < xs.length ? xs[i + 1] * s : 0);
    dx[i] = s * (i ? out[i - 1] : 1);
  }
  return dx;
}

export const reductions = {
  sum: reduction(total, (g, xs) => xs.map(() => g)),
  mean: reduction(mean, (g, xs) => xs.map(() => g / xs.length)),
  prod: reduction((xs) => xs.reduce((a, b) => a * b, 1), products),
  max: reduction(largest, toExtreme),
  min: reduction(smallest, toExtreme),
  logsumexp: reduction(logsumexp, logsumexpSlope),
  nansum: reduction(
    (xs) => total(xs.filter((x) => !Number.isNaN(x))),
    (g, xs) => xs.map((x) => (Number.isNaN(x) ? 0 : g)),
  ),
  var: reduction(variance, (g, xs, out, p) => centred(xs).map((d) => d * ((g * 2) / freedom(xs, p)))),
  std: reduction((xs, p) => Math.sqrt(variance(xs, p)), deviationSlope),
  norm: reduction(norm, normSlope),
  argmax: reduction((xs) => argmax(xs)),
  argmin: reduction((xs) => argmax(xs, (a, b) => a < b)),
  any: reduction((xs) => (xs.some((x) => x !== 0) ? 1 : 0)),
  all: reduction((xs) => (xs.every((x) => x !== 0) ? 1 : 0)),
  count_nonzero: reduction((xs) => xs.filter((x) => x !== 0).length),
  cumsum: lines(cumulated, (g) => reversed(cumulated(reversed(g)))),
  cumprod: lines((xs) => {
    let product = 1;
    return xs.map((x) => (product *= x));
  }, cumprodSlope),
  sort: picks(sorted),
  argsort: lines(sorted),
  cummax: picks(running((a, b) => a > b)),
  cummin: picks(running((a, b) => a < b)),
  topk: picks((xs, { k, largest: most = true }) => sorted(xs, { descending: most }).slice(0, k)),
};

export { largest, mean, total };
