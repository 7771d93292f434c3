/* Rules of products of matrices and vectors. */

import { axisOf, broadcast, groupsOf, sizeOf, spread, stridesOf, walk, zeros } from "./arrays.js";

/** How a product runs: the shape of the result, the lengths, and for each matrix of the batch in
    `starts` the first position in x and in y. */
export function productPlan(x, y) {
  const matrix = (a, vector) => (a.shape.length === 1 ? vector(a.shape[0]) : a.shape);
  const left = matrix(x, (n) => [1, n]);
  const right = matrix(y, (n) => [n, 1]);
  const [rows, inner] = left.slice(-2);
  const columns = right.at(-1);
  if (right.at(-2) !== inner) throw new Error(`matmul: shapes ${x.shape} and ${y.shape} do not fit`);
  const lead = broadcast(left.slice(0, -2), right.slice(0, -2));
  const shape = [
    ...lead,
    ...(x.shape.length === 1 ? [] : [rows]),
    ...(y.shape.length === 1 ? [] : [columns]),
  ];
  const xs = spread(left.slice(0, -2), lead);
  const ys = spread(right.slice(0, -2), lead);
  const starts = Array.from(xs, (n, i) => [n * rows * inner, ys[i] * inner * columns]);
  return { shape, rows, columns, inner, starts };
}

/** Calls visit(out, x, y) with the three positions of each product that is added up. */
function everyProduct(plan, visit) {
  const { rows, columns, inner, starts } = plan;
  let out = 0;
  for (const [left, right] of starts) {
    for (let i = 0; i < rows; i += 1) {
      for (let j = 0; j < columns; j += 1, out += 1) {
        for (let k = 0; k < inner; k += 1) visit(out, left + i * inner + k, right + k * columns + j);
      }
    }
  }
}

const matmul = {
  forward([x, y]) {
    const plan = productPlan(x, y);
    const out = zeros(plan.shape);
    everyProduct(plan, (o, a, b) => {
      out.data[o] += x.data[a] * y.data[b];
    });
    return out;
  },
  backward(g, [x, y]) {
    const dx = zeros(x.shape);
    const dy = zeros(y.shape);
    everyProduct(productPlan(x, y), (o, a, b) => {
      dx.data[a] += g.data[o] * y.data[b];
      dy.data[b] += x.data[a] * g.data[o];
    });
    return [dx, dy];
  },
};

/** The same for x @ weightᵀ. */
function everyPair(x, weight, visit) {
  const [n, m] = weight.shape;
  const rows = sizeOf(x.shape.slice(0, -1));
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < n; j += 1) {
      for (let k = 0; k < m; k += 1) visit(i * n + j, i * m + k, j * m + k);
    }
  }
}

const linear = {
  forward([x, weight, bias]) {
    const n = weight.shape[0];
    const out = zeros([...x.shape.slice(0, -1), n]);
    everyPair(x, weight, (o, a, b) => {
      out.data[o] += x.data[a] * weight.data[b];
    });
    if (bias) {
      out.data.forEach((_, i) => {
        out.data[i] += bias.data[i % n];
      });
    }
    return out;
  },
  backward(g, [x, weight, bias]) {
    const dx = zeros(x.shape);
    const dweight = zeros(weight.shape);
    everyPair(x, weight, (o, a, b) => {
      dx.data[a] += g.data[o] * weight.data[b];
      dweight.data[b] += g.data[o] * x.data[a];
    });
    if (!bias) return [dx, dweight, null];
    const dbias = zeros(bias.shape);
    g.data.forEach((own, i) => {
      dbias.data[i % bias.data.length] += own;
    });
    return [dx, dweight, dbias];
  },
};

/** Calls visit(out, x, y) for each product of an einsum of two operands, "ij,jk->ik". */
function everyTerm([x, y], subscripts, visit) {
  const [inputs, made] = subscripts.split("->");
  const [a, b] = inputs.split(",");
  const names = [...new Set(made + a + b)];
  const length = (name) => (a.includes(name) ? x.shape[a.indexOf(name)] : y.shape[b.indexOf(name)]);
  const lengths = names.map(length);
  const steps = (letters) => {
    const own = stridesOf([...letters].map(length));
    return names.map((name) => (letters.includes(name) ? own[letters.indexOf(name)] : 0));
  };
  const places = [made, a, b].map((letters) => walk(lengths, steps(letters)));
  for (let i = 0; i < places[0].length; i += 1) visit(places[0][i], places[1][i], places[2][i]);
  return [...made].map(length);
}

const einsum = {
  forward([x, y], { subscripts }) {
    const shape = everyTerm([x, y], subscripts, () => {});
    const out = zeros(shape);
    everyTerm([x, y], subscripts, (o, a, b) => {
      out.data[o] += x.data[a] * y.data[b];
    });
    return out;
  },
  backward(g, [x, y], out, { subscripts }) {
    const dx = zeros(x.shape);
    const dy = zeros(y.shape);
    everyTerm([x, y], subscripts, (o, a, b) => {
      dx.data[a] += g.data[o] * y.data[b];
      dy.data[b] += x.data[a] * g.data[o];
    });
    return [dx, dy];
  },
};

/** x × y along an axis of length 3, the others broadcast. */
function crossed(x, y, axis) {
  const shape = broadcast(x.shape, y.shape);
  const [at, by] = [spread(x.shape, shape), spread(y.shape, shape)];
  const out = zeros(shape);
  for (const group of groupsOf(shape, axisOf(axis, shape.length)).groups) {
    const [a, b, c] = Array.from(group, (i) => x.data[at[i]]);
    const [d, e, f] = Array.from(group, (i) => y.data[by[i]]);
    [b * f - c * e, c * d - a * f, a * e - b * d].forEach((value, i) => {
      out.data[group[i]] = value;
    });
  }
  return out;
}

const cross = {
  forward: ([x, y], { axis = -1 }) => crossed(x, y, axis),
  backward: (g, [x, y], out, { axis = -1 }) => [crossed(y, g, axis), crossed(g, x, axis)],
};

export const products = { matmul, linear, einsum, cross };
export { everyPair, everyProduct, everyTerm };
