// What happens one after the other in a view, and what is known after each of these moments.

import { makerIn } from "./load.js";

// {phase: start | forward | seed | arrive | local | term, step?, operand?, value?, nth?, of?}
export function moments(data, view) {
  const { steps, leaving, parent } = data.views[view];
  const list = [{ phase: "start" }, ...steps.map(step => ({ phase: "forward", step }))];
  const drawn = new Set(steps);
  const order = data.backward.filter(step => drawn.has(step));
  if (!order.length) return list;
  const outputs = parent === null
    ? data.values.filter(value => value.output).map(value => value.id)
    : leaving.filter(id => data.values[id].grad);
  for (const value of outputs) list.push({ phase: "seed", value, inner: parent !== null });
  for (const step of order) {
    const { inputs, terms } = data.steps[step];
    list.push({ phase: "arrive", step });
    inputs.forEach((value, operand) => {
      if (value === null || !(terms[operand] || data.values[value].needs_grad)) return;
      list.push({ phase: "local", step, operand, value }, { phase: "term", step, operand, value });
    });
  }
  const total = new Map();
  for (const one of list) {
    if (one.phase !== "term" && one.phase !== "seed") continue;
    one.nth = (total.get(one.value) || 0) + 1;
    total.set(one.value, one.nth);
  }
  for (const one of list) {
    if (one.nth) one.of = total.get(one.value);
    // the gradient of the step's result, which all of its terms are made of
    if (one.step !== undefined && isBackward(one)) one.gradient = gradientOf(data, one.step);
  }
  return list;
}

function gradientOf(data, step) {
  const { outputs } = data.steps[step];
  return outputs.length === 1 ? data.values[outputs[0]].grad : null;
}

const added = (sum, term) => sum && term && sum.map((x, i) => x + term[i]);

// When each value gets its numbers, and how its gradient grows: value -> [{at, terms, sum, complete}]
export function history(data, view, list) {
  const from = new Map(), sums = new Map();
  for (const value of data.views[view].values) if (makerIn(data, view, value) === undefined) from.set(value, 0);
  list.forEach((one, at) => {
    if (one.phase === "forward") data.steps[one.step].outputs.forEach(value => from.set(value, at));
    if (!one.nth) return;
    const term = termOf(data, one), known = sums.get(one.value) || [], before = known.at(-1);
    const complete = one.nth === one.of;
    // complete, it is the engine's own sum, in its dtype, rather than ours
    const whole = complete && view === 0 && data.values[one.value].grad;
    sums.set(one.value, [...known, {
      at, complete, terms: [...before?.terms || [], term], sum: whole || (before ? added(before.sum, term) : term),
    }]);
  });
  return { from, sums };
}

// what is known after a moment: {shown: has(value), sums: get(value)}
export const stateAt = ({ from, sums }, index) => ({
  shown: { has: value => from.get(value) <= index },
  sums: { get: value => sums.get(value)?.findLast(one => one.at <= index) },
});

// what a moment adds to a gradient; a seed is 1 unless the graph goes on after the output
export function termOf(data, moment) {
  if (moment.phase === "term") return data.steps[moment.step].terms[moment.operand];
  const { grad, data: numbers } = data.values[moment.value];
  if (moment.inner || moment.of === 1) return grad || (numbers && numbers.map(() => 1));
  return numbers && numbers.map(() => 1);
}

// where a press on a node leads: to its op, forward or backward as the play is
export function momentOf(list, now, { step, value }, data) {
  const backward = isBackward(list[now]);
  if (step !== undefined) {
    const found = list.findIndex(one => one.step === step
      && one.phase === (backward ? "arrive" : "forward"));
    return found >= 0 ? found : list.findIndex(one => one.step === step);
  }
  if (backward) {
    const done = list.findIndex(one => one.value === value && one.nth && one.nth === one.of);
    if (done >= 0) return done;
  }
  return list.findIndex(one => one.phase === "forward" && data.steps[one.step].outputs.includes(value));
}

export const isBackward = moment => !["start", "forward"].includes(moment.phase);

export const startOfBackward = list => list.findIndex(isBackward);
