/* What-if: all numbers of a page anew after some of its inputs changed, and finite differences.

   The page's data are as `stepper` wrote them; nothing here changes them. */

import { array, fromJson, full, numbersOf, sizeOf, spread, toJson, unbroadcast, zeros } from "./arrays.js";
import { constantOf } from "./constants.js";
import { ruleOf } from "./rules.js";

/** Settings as rules read them, with the dtype of the first operand, by which some look up limits. */
function settingsOf(data, step) {
  const first = step.inputs.find((id) => id !== null);
  const dtype = first === undefined ? "float64" : data.values[first].dtype;
  return { dtype, ...numbersOf(step.params) };
}

/** Whether a step is computed by a rule of its own; if not, by the steps inside it. */
const byRule = (step) => step.params !== null && ruleOf(step.op) !== null;

/** Which of the op's results output number n of a step is: those that nobody reads are left out. */
const resultOf = (step, n) => step.results?.[n] ?? n;

const stepsOf = (data, view) => data.views[view].steps;

/** Names of ops without a rule that view 0 needs. */
function unsupported(data) {
  const names = new Set();
  const look = (view) => {
    for (const id of stepsOf(data, view)) {
      const step = data.steps[id];
      if (byRule(step)) continue;
      if (step.opens === null || (step.times ?? 1) > 1) names.add(step.op);
      else look(step.opens);
    }
  };
  look(0);
  return [...names];
}

/** One run through a page's graph: forward, and back if asked. */
class Run {
  constructor(data, edits) {
    this.data = data;
    this.values = data.values.map((value) =>
      value.data === null ? null : array(value.shape, Float64Array.from(value.data, fromJson), value.dtype),
    );
    this.params = data.steps.map((step) => (step.params === null ? null : settingsOf(data, step)));
    this.grads = data.values.map(() => null);
    this.terms = data.steps.map((step) => step.inputs.map(() => null));
    this.local = data.steps.map(() => null);
    this.stale = new Set();
    this.computed = new Set(data.steps.flatMap((step) => step.outputs));
    for (const { value, index, number } of edits) {
      const known = this.values[value];
      if (!known || this.computed.has(value) || !(index >= 0 && index < known.data.length)) {
        throw new Error(`edits: expected an element of an input, got value ${value}, index ${index}`);
      }
      known.data[index] = fromJson(number);
    }
    for (const id of this.computed) this.values[id] = null;
  }

  /** Ids of values that the steps of a view read, that none computes and nobody knows. */
  unknown(view) {
    const found = new Set();
    for (const id of stepsOf(this.data, view)) {
      const step = this.data.steps[id];
      const reads = byRule(step) ? step.inputs : this.unknown(step.opens);
      for (const value of reads) {
        if (value !== null && this.values[value] === null && !this.computed.has(value)) found.add(value);
      }
    }
    return [...found];
  }

  inputs(step) {
    return step.inputs.map((id) => (id === null ? null : this.values[id]));
  }

  forward(view = 0, inside = true) {
    for (const id of stepsOf(this.data, view)) {
      const step = this.data.steps[id];
      if (byRule(step)) this.apply(id);
      else this.forward(step.opens, inside);
      if (inside && byRule(step) && step.opens !== null) this.show(id);
    }
  }

  apply(id) {
    const step = this.data.steps[id];
    const made = [ruleOf(step.op).forward(this.inputs(step), this.params[id])].flat();
    step.outputs.forEach((value, n) => {
      const { shape, data } = made[resultOf(step, n)];
      this.values[value] = array(shape, data, this.data.values[value].dtype);
    });
  }

  /** The numbers inside an op that has a rule of its own: only to be looked at. */
  show(id) {
    const step = this.data.steps[id];
    const outer = step.outputs.map((value) => this.values[value]);
    const { entering, values } = this.data.views[step.opens];
    for (const value of values) {
      if (this.computed.has(value) || entering.includes(value)) continue;
      const known = constantOf(step, this.data.values[value], this.inputs(step), this.params[id]);
      if (known) this.values[value] = array(known.shape, known.data, this.data.values[value].dtype);
    }
    let follows = !unsupportedIn(this.data, step.opens) && !this.unknown(step.opens).length;
    if (follows) {
      this.forward(step.opens);
      follows = step.outputs.every((value, n) => near(this.values[value], outer[n]));
    }
    if (!follows) nested(this.data, step.opens).forEach((inner) => this.stale.add(inner));
    step.outputs.forEach((value, n) => {
      this.values[value] = outer[n];
    });
  }

  /** Gradients of 1 at the outputs, or of those that the page says, back to everything. */
  backward() {
    this.data.values.forEach((value, id) => {
      if (value.output) this.grads[id] = this.seed(id);
    });
    this.walkBack(0, this.grads);
  }

  seed(id) {
    const { grad } = this.data.values[id];
    const { shape } = this.values[id];
    return grad === null ? full(shape, 1) : array(shape, Float64Array.from(grad, fromJson));
  }

  /** Back through the steps of one view; `grads` has what arrives, by value, and is added to. */
  walkBack(view, grads) {
    const own = new Set(stepsOf(this.data, view));
    for (const id of this.data.backward) {
      if (!own.has(id)) continue;
      const step = this.data.steps[id];
      const arrived = step.outputs.map((out) => grads[out]);
      if (arrived.every((g) => g === null)) continue;
      const terms = byRule(step) ? this.ruleBack(id, arrived) : this.insideBack(step, grads);
      this.terms[id] = terms;
      step.inputs.forEach((value, n) => {
        if (terms[n]) grads[value] = added(grads[value], terms[n]);
      });
      if (byRule(step) && step.opens !== null && !this.stale.has(step.opens)) this.insideBack(step, grads);
    }
  }

  ruleBack(id, arrived) {
    const step = this.data.steps[id];
    let [g] = arrived;
    if (ruleOf(step.op).several) {
      g = this.results(id).map((made) => zeros(made.shape));
      arrived.forEach((own, n) => {
        if (own) g[resultOf(step, n)] = own;
      });
    }
    return this.product(id, g).map((dx, n) => dx && unbroadcast(dx, this.values[step.inputs[n]].shape));
  }

  /** All results of a step's rule, also those that nobody reads. */
  results(id) {
    const step = this.data.steps[id];
    return [ruleOf(step.op).forward(this.inputs(step), this.params[id])].flat();
  }

  /** The rule's gradients, not yet summed over broadcast axes; null where none is wanted. */
  product(id, g) {
    const step = this.data.steps[id];
    const inputs = this.inputs(step);
    const out = this.values[step.outputs[0]];
    const found = ruleOf(step.op).backward(g, inputs, out, this.params[id]);
    return step.inputs.map((value, n) => {
      if (value === null || !this.data.values[value].needs_grad) return null;
      return found[n] ?? null;
    });
  }

  /** Back through the steps inside of a step: what they add up to, per operand. */
  insideBack(step, grads) {
    const view = this.data.views[step.opens];
    const inner = this.data.values.map(() => null);
    step.outputs.forEach((id) => {
      inner[id] = grads[id];
    });
    this.walkBack(step.opens, inner);
    const entering = new Set(view.entering);
    view.values.forEach((id) => {
      if (!entering.has(id) && !step.outputs.includes(id)) this.grads[id] = inner[id];
    });
    // a value that enters as two operands has one gradient in there: it is told of the first
    return step.inputs.map((id, n) => (step.inputs.indexOf(id) === n && id !== null ? inner[id] : null));
  }

  /** Derivatives of a step's output by its operands, of the kind that the page shows. */
  derivatives(id) {
    const step = this.data.steps[id];
    if (!step.local || !byRule(step) || this.values[step.outputs[0]] === null) return null;
    const kinds = step.local.map((known) => known?.kind);
    const rows = kinds.includes("matrix") ? this.jacobian(id) : [];
    return step.local.map((known, n) => {
      const diagonal = known?.kind === "diagonal" ? this.diagonal(id, n) : null;
      if (diagonal) return { kind: "diagonal", data: toJson(diagonal) };
      if (known?.kind !== "matrix" || !rows.every((row) => row[n])) return null;
      const data = rows.flatMap((row) => toJson(row[n]));
      return { kind: "matrix", rows: rows.length, columns: known.columns, data };
    });
  }

  /** What ones send back to operand n, once that has the shape of the output. */
  diagonal(id, n) {
    const step = this.data.steps[id];
    const { shape } = this.values[step.outputs[0]];
    const inputs = this.inputs(step);
    const x = inputs[n];
    inputs[n] = array(shape, Float64Array.from(spread(x.shape, shape), (i) => x.data[i]), x.dtype);
    const { forward, backward } = ruleOf(step.op);
    const out = forward(inputs, this.params[id]);
    return backward(this.one(id, (g) => g.data.fill(1)), inputs, out, this.params[id])[n];
  }

  /** A gradient that arrives at the first output of a step alone, as its rule wants it. */
  one(id, mark) {
    const step = this.data.steps[id];
    const g = zeros(this.values[step.outputs[0]].shape);
    mark(g);
    if (!ruleOf(step.op).several) return g;
    return this.results(id).map((made, n) => (n === resultOf(step, 0) ? g : zeros(made.shape)));
  }

  jacobian(id) {
    const step = this.data.steps[id];
    const { shape } = this.values[step.outputs[0]];
    return Array.from({ length: sizeOf(shape) }, (_, i) => {
      const g = this.one(id, (own) => {
        own.data[i] = 1;
      });
      const shapeOf = (n) => this.values[step.inputs[n]].shape;
      const sent = this.product(id, g);
      return sent.map((dx, n) => dx && unbroadcast(dx, shapeOf(n)));
    });
  }
}

/** Whether a view has a step that nothing here can compute. */
function unsupportedIn(data, view) {
  return stepsOf(data, view).some((id) => {
    const step = data.steps[id];
    return !byRule(step) && (step.opens === null || unsupportedIn(data, step.opens));
  });
}

/** A view and those that open inside of it. */
function nested(data, view) {
  const opened = stepsOf(data, view).map((id) => data.steps[id].opens);
  return [view, ...opened.filter((inner) => inner !== null).flatMap((inner) => nested(data, inner))];
}

function added(sum, term) {
  return sum ? array(term.shape, term.data.map((x, i) => sum.data[i] + x)) : term;
}

function near(a, b) {
  if (!a || !b || a.data.length !== b.data.length) return false;
  return a.data.every((x, i) => {
    const y = b.data[i];
    return Object.is(x, y) || x === y || Math.abs(x - y) <= 1e-6 * (1 + Math.abs(y));
  });
}

/** A run that may start, or why it may not: {unsupported: [names]} or {missing: [value ids]}. */
function prepared(data, edits) {
  const names = unsupported(data);
  if (names.length) return { unsupported: names };
  const run = new Run(data, edits);
  const missing = run.unknown(0);
  return missing.length ? { missing } : { run };
}

/** The numbers of a page after edits [{value, index, number}].

    Returns {values: [{data, grad}], steps: [{local, terms}], stale: [view ids]}, lists as in the
    page's data and null where something is not known; `stale` are views inside of ops whose steps
    do not follow the edits, and whose numbers must not be shown. Or {unsupported: [names of ops]},
    {missing: [value ids]}. */
export function recompute(data, edits = []) {
  const { run, ...why } = prepared(data, edits);
  if (!run) return why;
  run.forward();
  run.backward();
  const stale = staleParts(data, run.stale);
  return {
    values: data.values.map((value, id) => ({
      data: run.values[id] && !stale.values.has(id) ? toJson(run.values[id], value.dtype) : null,
      grad: run.grads[id] && value.needs_grad ? toJson(run.grads[id]) : null,
    })),
    steps: data.steps.map((step, id) => ({
      local: stale.steps.has(id) ? null : run.derivatives(id),
      terms: run.terms[id].map((term) => term && toJson(term)),
    })),
    stale: [...run.stale],
  };
}

/** What is drawn in stale views only. */
function staleParts(data, views) {
  const steps = new Set();
  const values = new Set();
  for (const view of views) {
    const { entering, leaving } = data.views[view];
    stepsOf(data, view).forEach((id) => steps.add(id));
    data.views[view].values.forEach((id) => {
      if (!entering.includes(id) && !leaving.includes(id)) values.add(id);
    });
  }
  return { steps, values };
}

/** Σ seed · output over the outputs: what the gradients are the gradients of. */
function objective(data, edits) {
  const run = new Run(data, edits);
  run.forward(0, false);
  let sum = 0;
  data.values.forEach((value, id) => {
    if (!value.output) return;
    const seed = run.seed(id);
    run.values[id].data.forEach((x, i) => {
      sum += seed.data[i] * x;
    });
  });
  return sum;
}

/** Central differences for each element of an input, after edits; a flat list in its shape.

    Or {unsupported} or {missing} as of recompute. */
export function finiteDifferences(data, edits, valueId) {
  const { run, ...why } = prepared(data, edits);
  if (!run) return why;
  return Array.from(run.values[valueId].data, (x, index) => {
    const step = 6e-6 * Math.max(1, Math.abs(x));
    const at = (number) => objective(data, [...edits, { value: valueId, index, number }]);
    const [above, below] = [x + step, x - step];
    return (at(above) - at(below)) / (above - below);
  });
}
