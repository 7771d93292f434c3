// One sentence for each moment: what is read on the page is what a screen reader says.

import { bracketed, number } from "./numbers.js";
import { isScalar, nameOf, resultOf, titleOf } from "./names.js";
import { isBackward, termOf } from "./moments.js";
import { ruleOf } from "./rules.js";

export function sentence(data, list, index, words, said = false) {
  const moment = list[index], { say } = words;
  const name = id => nameOf(data, id, words);
  const step = moment.step === undefined ? null : data.steps[moment.step];
  const out = step?.outputs[0], op = step && titleOf(step, words.language);
  const made = step && resultOf(data, step, words);
  const scalar = step && step.outputs.length === 1 && isScalar(data.values[out]);
  if (moment.phase === "start") return say("start").replace(/[.\u3002]$/, "");
  if (moment.phase === "forward") {
    const { data: found, dtype, shape } = data.values[out];
    if (!found || step.outputs.length > 1) {
      return say("forward module", { op, out: made });
    }
    return scalar ? say("forward scalar", { op, out: made, number: number(found[0], 4, dtype) })
      : say("forward shape", { op, out: made, count: shape.join(" × ") });
  }
  if (moment.phase === "seed") {
    const inner = moment.inner, one = isScalar(data.values[moment.value]);
    const term = termOf(data, moment);
    const values = { out: name(moment.value), number: term ? number(term[0]) : "?" };
    return say(inner ? one ? "seed inner scalar" : "seed inner" : "seed", values);
  }
  if (moment.phase === "arrive") {
    const grad = moment.gradient;
    return scalar && grad ? say("arrive scalar", { op, out: made, number: number(grad[0]) })
      : say("arrive", { op, out: made });
  }
  const operand = name(moment.value);
  const local = step.local[moment.operand]?.data;
  const small = scalar && isScalar(data.values[moment.value]) && local;
  if (moment.phase === "local") {
    const rule = ruleOf(data.ops[step.op]?.gradient, step.names[moment.operand]);
    return small ? say("local scalar", { out: name(out), operand, number: number(local[0]) })
      : say(said ? "local said" : "local", { out: name(out), operand, rule: rule || "?" });
  }
  const term = step.terms[moment.operand];
  let text = small && term && moment.gradient
    ? say("term scalar", {
      gradient: number(moment.gradient[0]), local: number(local[0]), number: number(term[0]), operand,
    }) : say("term", { operand });
  if (moment.of > 1) text = say("and then", { one: text, other: sumOf(data, list, index, words) });
  return text;
}

// "0.5 + (-1.2) = -0.7", as far as it has come
export function sumOf(data, list, index, { say }) {
  const moment = list[index], value = data.values[moment.value];
  const done = moment.nth === moment.of;
  if (!isScalar(value)) return say(done ? "sum done" : "sum", moment);
  const terms = list.slice(0, index + 1).filter(one => one.nth && one.value === moment.value)
    .map(one => termOf(data, one));
  if (terms.some(term => !term)) return say(done ? "sum done" : "sum", moment);
  const sum = `${terms.map(([x], i) => i ? bracketed(x) : number(x)).join(" + ")}`
    + (terms.length > 1 ? ` = ${number(terms.reduce((all, [x]) => all + x, 0))}` : "");
  return say(done ? "sum done scalar" : "sum scalar", { sum });
}

export function announced(data, list, index, words) {
  const { say } = words;
  const phase = list[index].phase === "start" ? "start" : isBackward(list[index]) ? "backward" : "forward";
  return say("moment", {
    at: index, all: list.length - 1, phase: say(`phase ${phase}`).toLowerCase(),
    sentence: sentence(data, list, index, words, true).replace(/[.?\u3002]$/, ""),
  });
}
