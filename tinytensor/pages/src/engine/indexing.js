/* Where x[index] reads, for everything that NumPy's indexing allows. */

import { array, axisOf, broadcast, sizeOf, spread, stridesOf, walk } from "./arrays.js";

const isArray = (part) => typeof part === "object" && part !== null && "array" in part;
const isSlice = (part) => typeof part === "object" && part !== null && "slice" in part;
const isNew = (part) => part === null || part?.newaxis === true;
const isRest = (part) => part?.ellipsis === true;

/** A boolean array as one integer array per axis, the coordinates of what is true. */
function positionsOfTrue(shape, flat) {
  const found = [];
  flat.forEach((item, i) => {
    if (item) found.push(i);
  });
  return stridesOf(shape).map((step, axis) => ({
    array: found.map((i) => Math.floor(i / step) % shape[axis]),
    shape: [found.length],
  }));
}

/** Parts with boolean arrays and booleans put as integer arrays. `axis: false` reads no axis. */
function plain(index) {
  return index.flatMap((part) => {
    if (typeof part === "boolean") return [{ array: part ? [0] : [], shape: [part ? 1 : 0], axis: false }];
    if (!isArray(part)) return [part];
    if (part.array.some((item) => typeof item === "boolean")) return positionsOfTrue(part.shape, part.array);
    return [part];
  });
}

const readsAxis = (part) => !isNew(part) && !isRest(part) && part.axis !== false;

/** Start, count and step of a slice of an axis of n elements, as Python counts. */
function sliceOf([start, stop, step], n) {
  const by = step ?? 1;
  const limit = (edge, low, high) => Math.min(Math.max(edge < 0 ? edge + n : edge, low), high);
  const [low, high] = by > 0 ? [0, n] : [-1, n - 1];
  const first = start === null ? (by > 0 ? low : high) : limit(start, low, high);
  const last = stop === null ? (by > 0 ? high : low) : limit(stop, low, high);
  return [first, Math.max(0, Math.ceil((last - first) / by)), by];
}

/** {shape, at}: the shape of x[index] and the position in x of each of its elements. */
export function indexed(shape, index) {
  let parts = plain(index);
  const full = { slice: [null, null, null] };
  const missing = shape.length - parts.filter(readsAxis).length;
  const rest = new Array(Math.max(0, missing)).fill(full);
  const place = parts.findIndex(isRest);
  // an ellipsis that stands for no axis still separates the arrays around it
  const filling = place >= 0 && !rest.length ? [{ ellipsis: true }] : rest;
  parts = place < 0 ? [...parts, ...rest] : [...parts.slice(0, place), ...filling, ...parts.slice(place + 1)];

  const strides = stridesOf(shape);
  const withArrays = parts.some(isArray);
  const before = []; // dimensions [length, step] in front of those of the arrays
  const behind = [];
  const arrays = [];
  let start = 0;
  let axis = 0;
  let apart = false; // whether something stands between the arrays
  let over = false; // whether the run of arrays has ended
  for (const part of parts) {
    const isNumber = typeof part === "number";
    if (isArray(part) || (isNumber && withArrays)) {
      apart ||= over;
      const given = isNumber ? { array: [part], shape: [] } : part;
      const n = part.axis === false ? 0 : shape[axis];
      const step = part.axis === false ? 0 : strides[axis];
      const offsets = given.array.map((i) => axisOf(i, n) * step);
      arrays.push(array(given.shape, Float64Array.from(offsets)));
      axis += part.axis === false ? 0 : 1;
      continue;
    }
    if (isNumber) {
      start += axisOf(part, shape[axis]) * strides[axis];
      axis += 1;
      continue;
    }
    over = arrays.length > 0;
    if (isRest(part)) continue;
    const dimensions = arrays.length ? behind : before;
    if (isNew(part)) {
      dimensions.push([1, 0]);
    } else if (isSlice(part)) {
      const [first, count, by] = sliceOf(part.slice, shape[axis]);
      start += count ? first * strides[axis] : 0;
      dimensions.push([count, by * strides[axis]]);
      axis += 1;
    } else {
      throw new Error(`index: expected numbers, slices and arrays, got ${JSON.stringify(part)}`);
    }
  }
  if (!withArrays) {
    const dimensions = [...before, ...behind];
    const to = dimensions.map(([n]) => n);
    return { shape: to, at: walk(to, dimensions.map(([, step]) => step), start) };
  }
  return withOffsets(arrays, before, behind, apart, start);
}

/** The arrays' own dimensions go where they stand, or to the front where they stand apart. */
function withOffsets(arrays, before, behind, apart, start) {
  const own = broadcast(...arrays.map((a) => a.shape));
  const offsets = new Float64Array(sizeOf(own));
  arrays.forEach((a) => {
    spread(a.shape, own).forEach((position, i) => {
      offsets[i] += a.data[position];
    });
  });
  const front = apart ? [] : before;
  const back = apart ? [...before, ...behind] : behind;
  const lengths = (dimensions) => dimensions.map(([n]) => n);
  const steps = (dimensions) => dimensions.map(([, step]) => step);
  const to = [...lengths(front), ...own, ...lengths(back)];
  const at = walk(to, [...steps(front), ...own.map(() => 0), ...steps(back)], start);
  const inner = sizeOf(lengths(back));
  at.forEach((_, i) => {
    at[i] += offsets[Math.floor(i / inner) % offsets.length];
  });
  return { shape: to, at };
}
