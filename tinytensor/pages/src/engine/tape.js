/* A rule composed of other rules: what it computes is written down and walked back. */

import { array, unbroadcast } from "./arrays.js";

class Tape {
  constructor(rules) {
    this.rules = rules;
    this.steps = [];
  }

  /** The result of an op on boxes {value, grad}; numbers count as constants. */
  run(op, inputs, params = {}) {
    const boxes = inputs.map((x) => (typeof x === "number" ? box(array([], Float64Array.of(x))) : x));
    const values = boxes.map((x) => x?.value ?? null);
    const out = box(this.rules[op].forward(values, params));
    this.steps.push({ op, boxes, values, params, out });
    return out;
  }

  /** Gradients come to all boxes that `out` was computed from. */
  backward(out, g) {
    out.grad = g;
    for (const { op, boxes, values, params, out: made } of this.steps.reverse()) {
      if (!made.grad) continue;
      this.rules[op].backward(made.grad, values, made.value, params).forEach((dx, i) => {
        if (dx && boxes[i]) add(boxes[i], unbroadcast(dx, boxes[i].value.shape));
      });
    }
  }
}

const box = (value) => ({ value, grad: null });

function add(target, g) {
  target.grad = target.grad ? array(g.shape, g.data.map((x, i) => x + target.grad.data[i])) : g;
}

/** A rule from `build(run, boxes, params)`, which calls run(op, boxes, params) as it needs. */
export function composed(rules, build) {
  const play = (inputs, params) => {
    const tape = new Tape(rules);
    const boxes = inputs.map((x) => x && box(x));
    return [tape, boxes, build(tape.run.bind(tape), boxes, params)];
  };
  return {
    forward: (inputs, params) => play(inputs, params)[2].value,
    backward(g, inputs, out, params) {
      const [tape, boxes, made] = play(inputs, params);
      tape.backward(made, g);
      return boxes.map((x) => x && x.grad);
    },
  };
}
