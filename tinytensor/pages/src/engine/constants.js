/* Constants that a reference makes of its operands: they are no steps of the graph, and have to
   follow an edit all the same. */

import { array, groupsOf, sizeOf } from "./arrays.js";
import { ruleOf } from "./rules.js";

const mask = (shape, data) => array(shape, Float64Array.from(data, Number), "bool");

/** The largest along the axis, which falls out of every ratio; 0 for a line of -∞. */
function largest([x], { axis = -1 }) {
  const found = ruleOf("max").forward([x], { axis, keepdims: true });
  return array(found.shape, found.data.map((e) => (e === -Infinity ? 0 : e)));
}

function differencesWithin(limit) {
  return ([x, y], params) => mask(x.shape, x.data.map((e, i) => limit(Math.abs(e - y.data[i]), params)));
}

/** The first element of each group, which equal elements are compared with. */
function first([x], { axis = null }) {
  const { kept, groups } = groupsOf(x.shape, axis);
  return array(kept, Float64Array.from(groups, ([position]) => x.data[position]));
}

function isConstant(inputs, params) {
  const variance = ruleOf("var").forward(inputs, params);
  return mask(variance.shape, variance.data.map((e) => e === 0));
}

/** Targets as positions along the last axis, 0 for those that are ignored. */
function positions([, target], { ignore_index: ignored = -100 }) {
  return array([...target.shape, 1], target.data.map((id) => (id === ignored ? 0 : id)));
}

const isIgnored = ([, target], { ignore_index: ignored = -100 }) =>
  mask(target.shape, target.data.map((id) => id === ignored));

// by op, then by the kind of the constant's dtype
const KNOWN = {
  relu: { bool: ([x]) => mask(x.shape, x.data.map((e) => e <= 0)) },
  softmax: { float: largest },
  log_softmax: { float: largest },
  var: { float: first },
  std: { float: first, bool: isConstant },
  huber_loss: { bool: differencesWithin((d, { delta = 1 }) => d <= delta) },
  smooth_l1_loss: { bool: differencesWithin((d, { beta = 1 }) => d < beta) },
  cross_entropy: { int: positions, bool: isIgnored },
  nll_loss: { int: positions, bool: isIgnored },
};

/** The constant inside of an op for these inputs of it, recognised by its dtype and shape; null
    where none is known. */
export function constantOf(step, value, inputs, params) {
  if (value.role === "constant" || !Object.hasOwn(KNOWN, step.op)) return null;
  const [kind] = /^[a-z]+/.exec(value.dtype) ?? [""];
  if (!Object.hasOwn(KNOWN[step.op], kind)) return null;
  const made = KNOWN[step.op][kind](inputs, params);
  return sizeOf(made.shape) === sizeOf(value.shape) ? made : null;
}
