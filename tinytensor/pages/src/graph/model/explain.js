// Which elements made the number that one points at.

import { explainElement } from "../../engine/provenance.js";

export function explain(data, view, moment, at) {
  if (!at || at.of === "local" || at.of === "seed") return null;
  const { steps } = data.views[view];
  if (at.of === "data") {
    const step = at.step ?? steps.find(id => data.steps[id].outputs.includes(at.value));
    return step === undefined ? null
      : explainElement(data.steps[step], data, { side: "forward", operand: null, index: at.index, output: at.value });
  }
  let { step, operand } = at;
  if (step === undefined) {  // a gradient: by the term that is being added, or the only one
    const readers = steps.flatMap(id => data.steps[id].inputs.flatMap((value, i) =>
      value === at.value && (data.steps[id].terms[i] || data.values[value].needs_grad) && data.backward.includes(id) ? [[id, i]] : []));
    if (moment?.phase === "term" && moment.value === at.value) ({ step, operand } = moment);
    else if (readers.length === 1) [[step, operand]] = readers;
    else return null;
  }
  return explainElement(data.steps[step], data, { side: "backward", operand, index: at.index });
}

export const same = (a, b) => Boolean(a && b) && a.value === b.value && a.of === b.of && a.index === b.index
  && (a.of === "data" || a.of === "grad" || (a.step === b.step && a.operand === b.operand));
