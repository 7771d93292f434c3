/* Ops that only move elements: every one is a list that says where each element comes from, which
   serves its forward rule, its gradient and the question where an element came from. */

import { array, axesOf, axisOf, sizeOf, spread, stridesOf, walk, zeros } from "./arrays.js";
import { indexed } from "./indexing.js";

/** A rule from `map(inputs, params)`, which gives a {shape, at, from, mute} per output: `at` has
    positions in operand number `from` (a number, by default 0, or one per element), -1 for 0;
    `mute` marks elements that pass no gradient back. */
export function moved(map, several = false) {
  const maps = (inputs, params) => [map(inputs, params)].flat();
  const operand = (m, i) => (typeof m.from === "object" ? m.from[i] : (m.from ?? 0));
  return {
    several,
    maps,
    forward(inputs, params) {
      const outs = maps(inputs, params).map((m) => {
        const out = zeros(m.shape);
        m.at.forEach((position, i) => {
          if (position >= 0) out.data[i] = inputs[operand(m, i)].data[position];
        });
        return out;
      });
      return several ? outs : outs[0];
    },
    backward(g, inputs, outs, params) {
      const gs = several ? g : [g];
      const found = maps(inputs, params);
      const reads = (m, n) => typeof m.from === "object" || (m.from ?? 0) === n;
      const grads = inputs.map((x, n) => (x && found.some((m) => reads(m, n)) ? zeros(x.shape) : null));
      found.forEach((m, n) => {
        if (!gs[n]) return;
        m.at.forEach((position, i) => {
          if (position < 0 || m.mute?.[i]) return;
          grads[operand(m, i)].data[position] += gs[n].data[i];
        });
      });
      return grads;
    },
  };
}

const identity = (n) => Int32Array.from({ length: n }, (_, i) => i);

const reshaped = (shapeOf) =>
  moved(([x], params) => ({ shape: shapeOf(x.shape, params), at: identity(sizeOf(x.shape)) }));

function inferred(old, { shape }) {
  const wanted = [shape].flat();
  const known = wanted.filter((n) => n !== -1).reduce((n, m) => n * m, 1);
  return wanted.map((n) => (n === -1 ? sizeOf(old) / known : n));
}

function squeezed(shape, { axis = null }) {
  const axes = axis === null ? null : axesOf(axis, shape.length);
  return shape.filter((n, i) => (axes === null ? n !== 1 : !axes.includes(i)));
}

function expanded(shape, { axis }) {
  const count = [axis].flat().length + shape.length;
  const places = axesOf(axis, count);
  const rest = [...shape];
  return Array.from({ length: count }, (_, i) => (places.includes(i) ? 1 : rest.shift()));
}

/** A view: the axes of x in this order. */
function reordered(shape, order) {
  const strides = stridesOf(shape);
  const to = order.map((axis) => shape[axis]);
  return { shape: to, at: walk(to, order.map((axis) => strides[axis])) };
}

const range = (n) => [...new Array(n).keys()];

function transposed([x], { axes = null }) {
  const n = x.shape.length;
  return reordered(x.shape, axes === null ? range(n).reverse() : axes.map((a) => axisOf(a, n)));
}

function swapped([x], { axis1, axis2 }) {
  const n = x.shape.length;
  const order = range(n);
  const [a, b] = [axisOf(axis1, n), axisOf(axis2, n)];
  [order[a], order[b]] = [b, a];
  return reordered(x.shape, order);
}

/** x with axis `axis` read at these places. */
function alongAxis(shape, axis, places) {
  const strides = stridesOf(shape);
  const to = shape.map((n, i) => (i === axis ? places.length : n));
  const at = walk(to, strides.map((s, i) => (i === axis ? 0 : s)));
  const inner = sizeOf(to.slice(axis + 1));
  at.forEach((_, i) => {
    at[i] += places[Math.floor(i / inner) % places.length] * strides[axis];
  });
  return { shape: to, at };
}

/** One map after another. */
const after = (first, second) => ({ shape: second.shape, at: second.at.map((i) => first.at[i]) });

function flipped([x], { axis = null }) {
  return axesOf(axis, x.shape.length).reduce(
    (map, a) => after(map, alongAxis(map.shape, a, range(map.shape[a]).reverse())),
    { shape: x.shape, at: identity(sizeOf(x.shape)) },
  );
}

function turned([x], { k = 1, axes = [0, 1] }) {
  const [a, b] = axesOf(axes, x.shape.length);
  let map = { shape: x.shape, at: identity(sizeOf(x.shape)) };
  for (let i = 0; i < ((k % 4) + 4) % 4; i += 1) {
    const order = range(x.shape.length);
    [order[a], order[b]] = [b, a];
    map = after(map, alongAxis(map.shape, b, range(map.shape[b]).reverse()));
    map = after(map, reordered(map.shape, order));
  }
  return map;
}

function rolled([x], { shift, axis = null }) {
  if (axis === null) {
    const n = sizeOf(x.shape);
    return { shape: x.shape, at: identity(n).map((i) => (((i - shift[0]) % n) + n) % n) };
  }
  return axis.reduce(
    (map, a, i) => {
      const own = axisOf(a, map.shape.length);
      const n = map.shape[own];
      return after(map, alongAxis(map.shape, own, range(n).map((j) => (((j - shift[i]) % n) + n) % n)));
    },
    { shape: x.shape, at: identity(sizeOf(x.shape)) },
  );
}

function repeated([x], { repeats, axis }) {
  const counts = Array.isArray(repeats) ? repeats : range(x.shape[axis]).map(() => repeats);
  return alongAxis(x.shape, axis, counts.flatMap((n, i) => new Array(n).fill(i)));
}

function tiled([x], { reps }) {
  const counts = [reps].flat();
  const n = Math.max(counts.length, x.shape.length);
  const shape = [...new Array(n - x.shape.length).fill(1), ...x.shape];
  const times = [...new Array(n - counts.length).fill(1), ...counts];
  return times.reduce(
    (map, count, a) => {
      const places = range(map.shape[a] * count).map((i) => i % map.shape[a]);
      return after(map, alongAxis(map.shape, a, places));
    },
    { shape, at: identity(sizeOf(shape)) },
  );
}

/** The parts of x between these positions along an axis. */
function pieces(shape, edges, axis) {
  return edges.slice(1).map((stop, i) => {
    const start = edges[i];
    return alongAxis(shape, axis, range(Math.max(0, stop - start)).map((j) => j + start));
  });
}

function split([x], { points, axis = 0 }) {
  const a = axisOf(axis, x.shape.length);
  return pieces(x.shape, [0, ...points, x.shape[a]], a);
}

function unbound([x], { axis = 0 }) {
  const a = axisOf(axis, x.shape.length);
  const shape = x.shape.filter((_, i) => i !== a);
  return range(x.shape[a]).map((i) => ({ shape, at: alongAxis(x.shape, a, [i]).at }));
}

function joined(inputs, axis) {
  const shape = [...inputs[0].shape];
  shape[axis] = inputs.reduce((n, x) => n + x.shape[axis], 0);
  const at = new Int32Array(sizeOf(shape));
  const from = new Int32Array(at.length);
  const strides = stridesOf(shape);
  let start = 0;
  inputs.forEach((x, n) => {
    walk(x.shape, strides, start * strides[axis]).forEach((place, i) => {
      at[place] = i;
      from[place] = n;
    });
    start += x.shape[axis];
  });
  return { shape, at, from };
}

function stacked(inputs, { axis = 0 }) {
  const a = axisOf(axis, inputs[0].shape.length + 1);
  const widened = inputs.map((x) => ({ shape: [...x.shape.slice(0, a), 1, ...x.shape.slice(a)] }));
  return joined(widened, a);
}

const triangle = (keeps) =>
  moved(([x], { k = 0 }) => {
    const [rows, columns] = x.shape.slice(-2);
    const at = identity(sizeOf(x.shape)).map((i) =>
      keeps((i % columns) - (Math.floor(i / columns) % rows), k) ? i : -1,
    );
    return { shape: x.shape, at };
  });

function diagonal([x], { offset = 0, axis1 = 0, axis2 = 1 }) {
  const n = x.shape.length;
  const [a, b] = [axisOf(axis1, n), axisOf(axis2, n)];
  const strides = stridesOf(x.shape);
  const rest = range(n).filter((i) => i !== a && i !== b);
  const length = Math.max(0, Math.min(x.shape[a] + Math.min(offset, 0), x.shape[b] - Math.max(offset, 0)));
  const shape = [...rest.map((i) => x.shape[i]), length];
  const start = offset >= 0 ? offset * strides[b] : -offset * strides[a];
  return { shape, at: walk(shape, [...rest.map((i) => strides[i]), strides[a] + strides[b]], start) };
}

function embeddedDiagonal([x], { shape, offset = 0, axis1 = -2, axis2 = -1 }) {
  const where = diagonal([{ shape }], { offset, axis1, axis2 }).at;
  const at = new Int32Array(sizeOf(shape)).fill(-1);
  where.forEach((place, i) => {
    at[place] = i;
  });
  return { shape, at };
}

/** x at indices along an axis, all other positions in step. */
function picked([x, index], { axis }) {
  const n = x.shape.length;
  const a = axisOf(axis, n);
  const strides = stridesOf(x.shape);
  const at = walk(index.shape, strides.map((s, i) => (i === a || x.shape[i] === 1 ? 0 : s)));
  at.forEach((_, i) => {
    at[i] += axisOf(index.data[i], x.shape[a]) * strides[a];
  });
  return { shape: index.shape, at };
}

function embedded([ids, weight], { padding_idx: padding = null }) {
  const [rows, width] = weight.shape;
  const shape = [...ids.shape, width];
  const at = identity(sizeOf(shape)).map((i) => ids.data[Math.floor(i / width)] * width + (i % width));
  const silent = padding === null ? -1 : axisOf(padding, rows);
  const mute = Array.from(at, (_, i) => ids.data[Math.floor(i / width)] === silent);
  return { shape, at, from: 1, mute };
}

export const shapes = {
  reshape: reshaped(inferred),
  squeeze: reshaped(squeezed),
  expand_dims: reshaped(expanded),
  transpose: moved(transposed),
  swapaxes: moved(swapped),
  broadcast_to: moved(([x], { shape }) => ({ shape, at: spread(x.shape, shape) })),
  flip: moved(flipped),
  rot90: moved(turned),
  roll: moved(rolled),
  repeat: moved(repeated),
  tile: moved(tiled),
  concat: moved((inputs, { axis = 0 }) => joined(inputs, axisOf(axis, inputs[0].shape.length))),
  stack: moved(stacked),
  split: moved(split, true),
  unbind: moved(unbound, true),
  tie: moved((inputs) => inputs.map((x, from) => ({ shape: x.shape, at: identity(sizeOf(x.shape)), from })), true),
  tril: triangle((above, k) => above <= k),
  triu: triangle((above, k) => above >= k),
  diagonal: moved(diagonal),
  diag_embed: moved(embeddedDiagonal),
  getitem: moved(([x], { index }) => indexed(x.shape, index)),
  take_along_axis: moved(picked),
  gather: moved(picked),
  embedding: moved(embedded),
  trace: {
    forward([x], params) {
      const map = diagonal([x], params);
      const n = map.shape.pop();
      const out = zeros(map.shape);
      map.at.forEach((place, i) => {
        out.data[Math.floor(i / n)] += x.data[place];
      });
      return out;
    },
    backward(g, [x], out, params) {
      const map = diagonal([x], params);
      const n = map.shape.at(-1);
      const dx = zeros(x.shape);
      map.at.forEach((place, i) => {
        dx.data[place] += g.data[Math.floor(i / n)];
      });
      return [dx];
    },
  },
  one_hot: {
    forward([ids], { num_classes: classes }) {
      const out = zeros([...ids.shape, classes]);
      ids.data.forEach((id, i) => {
        out.data[i * classes + id] = 1;
      });
      return array(out.shape, out.data);
    },
    backward: () => [null],
  },
};
