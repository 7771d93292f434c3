// Changed numbers: everything again by the engine of the page, and what differs from before.

import { finiteDifferences, recompute } from "../../engine/engine.js";
import { count } from "./numbers.js";

// {data, trouble}: with the edits in it, or the original and what is in the way
export function withEdits(original, edits) {
  const found = recompute(original, edits);
  if (found.unsupported || found.missing) return { data: original, trouble: found };
  if (!edits.length) return { data: original };
  return {
    data: {
      ...original,
      values: original.values.map((value, i) => ({ ...value, ...found.values[i] })),
      steps: original.steps.map((step, i) => ({ ...step, ...found.steps[i] })),
    },
  };
}

const differs = (a, b) => !(Object.is(a, b) || Math.abs(a - b) <= 1e-6 * Math.max(1e-6, Math.abs(b)));

export function isChanged(original, now, { value, of, index }) {
  if (of !== "data" && of !== "grad") return false;
  const before = original.values[value][of], after = now.values[value][of];
  return Boolean(before && after && before !== after && differs(after[index], before[index]));
}

// the last edit of each number
export function edited(edits, original, one) {
  const others = edits.filter(({ value, index }) => value !== one.value || index !== one.index);
  return original.values[one.value].data[one.index] === one.number ? others : [...others, one];
}

// gradients of all small leaves beside finite differences
export function compared(data, original, edits, leaves, most = 64) {
  return leaves.flatMap(id => {
    const { grad, needs_grad: needed, shape } = data.values[id];
    if (!needed || !grad || count(shape) > most) return [];
    return Array.from(finiteDifferences(original, edits, id), (finite, index) => ({ id, index, ours: grad[index], finite }));
  });
}
