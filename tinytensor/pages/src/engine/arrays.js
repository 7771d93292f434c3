/* Arrays of any number of axes: {shape, data, dtype}, the elements in C order in a Float64Array.
   Everything is computed in double precision; dtype is a name to look up limits by. */

export const sizeOf = (shape) => shape.reduce((n, m) => n * m, 1);

export function array(shape, data, dtype = "float64") {
  return { shape, data, dtype };
}

export const zeros = (shape) => array(shape, new Float64Array(sizeOf(shape)));

export const full = (shape, number) => array(shape, new Float64Array(sizeOf(shape)).fill(number));

export const sameShape = (a, b) => a.length === b.length && a.every((n, i) => n === b[i]);

/** Steps between neighbours along each axis of an array in C order. */
export function stridesOf(shape) {
  const strides = new Array(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i -= 1) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

/** Positions in memory of the elements of a strided view, in C order. */
export function walk(shape, strides, start = 0) {
  const n = sizeOf(shape);
  const out = new Int32Array(n);
  const index = new Array(shape.length).fill(0);
  let position = start;
  for (let i = 0; i < n; i += 1) {
    out[i] = position;
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      index[axis] += 1;
      position += strides[axis];
      if (index[axis] < shape[axis]) break;
      position -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

/** The shape that all of these broadcast to; throws where they do not. */
export function broadcast(...shapes) {
  const n = Math.max(0, ...shapes.map((s) => s.length));
  const out = new Array(n).fill(1);
  for (const shape of shapes) {
    shape.forEach((length, i) => {
      const at = n - shape.length + i;
      if (length === 1 || out[at] === length) return;
      if (out[at] !== 1) throw new Error(`shapes do not broadcast: ${JSON.stringify(shapes)}`);
      out[at] = length;
    });
  }
  return out;
}

/** For each element of an array of shape `to`, the position of what is broadcast there. */
export function spread(shape, to) {
  const own = stridesOf(shape);
  const extra = to.length - shape.length;
  return walk(to, to.map((_, i) => (i < extra || shape[i - extra] === 1 ? 0 : own[i - extra])));
}

/** g summed over the axes along which an operand of `shape` was broadcast. */
export function unbroadcast(g, shape) {
  if (sameShape(g.shape, shape)) return g;
  if (sizeOf(g.shape) === sizeOf(shape)) return array(shape, g.data);
  const out = zeros(shape);
  spread(shape, g.shape).forEach((position, i) => {
    out.data[position] += g.data[i];
  });
  return out;
}

/** An axis counted from the front. */
export const axisOf = (axis, n) => (axis < 0 ? axis + n : axis);

/** The reduced axes, from the front: null means all, and a number has none. */
export function axesOf(axis, n) {
  if (axis === null || axis === undefined) return [...new Array(n).keys()];
  if (n === 0) return [];
  return (Array.isArray(axis) ? axis : [axis]).map((a) => axisOf(a, n));
}

/** The elements that a reduction over `axis` takes together.

    Returns {shape, kept, groups}: the shape of the result without and with the reduced axes, and
    for each element of it the positions of its elements in C order. */
export function groupsOf(shape, axis) {
  const axes = axesOf(axis, shape.length);
  const strides = stridesOf(shape);
  const reduced = (i) => axes.includes(i);
  const outer = shape.filter((_, i) => !reduced(i));
  const starts = walk(outer, strides.filter((_, i) => !reduced(i)));
  const inner = walk(shape.filter((_, i) => reduced(i)), strides.filter((_, i) => reduced(i)));
  return {
    shape: outer,
    kept: shape.map((n, i) => (reduced(i) ? 1 : n)),
    groups: Array.from(starts, (start) => inner.map((offset) => start + offset)),
  };
}

/** The coordinates of a position in an array of this shape. */
export function coordinates(shape, position) {
  return stridesOf(shape).map((step, i) => Math.floor(position / step) % shape[i]);
}

const WORDS = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** A number as JSON has it: a number, true or false, or one of the words for what JSON lacks. */
export function fromJson(item) {
  if (typeof item === "number") return item;
  if (typeof item === "boolean") return item ? 1 : 0;
  if (Object.hasOwn(WORDS, item)) return WORDS[item];
  throw new Error(`expected a number, true, false, "nan", "inf" or "-inf", got ${JSON.stringify(item)}`);
}

/** The elements as a list that JSON can hold. */
export function toJson(a, dtype = a.dtype) {
  return Array.from(a.data, (x) => {
    if (dtype === "bool") return x !== 0;
    if (Number.isFinite(x)) return x;
    return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  });
}

/** Settings with the words for infinities and NaN as numbers. */
export function numbersOf(params) {
  const decode = (item) => (typeof item === "string" && Object.hasOwn(WORDS, item) ? WORDS[item] : item);
  return Object.fromEntries(Object.entries(params).map(([name, item]) => [name, decode(item)]));
}
