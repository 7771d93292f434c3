// What things are called, in boxes and in sentences.

import { opName } from "../words/words.js";
import { brief, count, number } from "./numbers.js";

// a value's name, or what it is the result of
export function nameOf(data, id, { say }, most = 40) {
  const value = data.values[id];
  if (value.name) return brief(value.name, most);
  if (value.role === "constant" && value.data?.length === 1) return number(value.data[0], 4, value.dtype);
  const maker = data.steps.find(step => step.outputs.includes(id));
  if (maker) return say("result of", { op: brief(maker.symbol || maker.op, most) });
  return value.called ? brief(value.called, most) : say(`role ${value.role}`);
}

// in a sentence that is about the step itself
export const resultOf = (data, step, words) => step.outputs.map(id => data.values[id].name
  ? nameOf(data, id, words) : words.say("its result")).filter((one, i, all) => all.indexOf(one) === i).join(", ");

export const titleOf = (step, language) => brief(opName(language, step.op));

export const isScalar = value => count(value.shape) === 1;

// why the numbers of a value, or of any of several, are not in the page
const REASONS = ["changed", "freed", "gone"];
export const unknown = (values, { say }) => {
  const reasons = values.filter(value => value && !value.data).map(value => value.unknown);
  return say(`unknown ${REASONS.find(one => reasons.includes(one)) || "large"}`);
};

export const roleOf = (value, say) => say(value.output ? "role output" : `role ${value.role}`);
