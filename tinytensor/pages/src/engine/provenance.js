/* What one element was made of: which elements, by which formula, with the numbers put in. */

import { array, fromJson, groupsOf, numbersOf, sizeOf, spread } from "./arrays.js";
import { contractions } from "./provenance_of_products.js";
import { rows } from "./provenance_of_rows.js";
import { ruleOf } from "./rules.js";
import { at, bracketed, shortened, summed, unique, written } from "./written.js";

/** Which elements made element `index` of a step's output (side "forward"), or of what the step
    adds to the gradient of operand number `operand` (side "backward").

    `output` is the id of the output that `index` counts in, where a step has several.

    Returns {cells: [{value, of: "data" | "grad", index, as}], formula, numbers}: cells are elements
    of values by id, `as` says "row" or "column" where they are one; the formula is in letters and
    `numbers` the same with up to 8 terms written out. null where that cannot be told. */
export function explainElement(step, data, asked = {}) {
  const { side = "forward", operand = 0, index = 0, output = step.outputs[0] } = asked;
  if (step.params === null || ruleOf(step.op) === null) return null;
  const look = lookInto(step, data, Math.max(0, step.outputs.indexOf(output)));
  if (look === null || look.out === null) return null;
  const forward = side === "forward";
  if (!forward && (look.results.every(([, , g]) => g === null) || step.inputs[operand] === null || !step.terms?.[operand])) return null;
  const explain = explainerOf(step, look);
  return explain ? explain(look, forward ? null : operand, index) : null;
}

/** The arrays and names that a step is about. */
function lookInto(step, data, which) {
  const arrayOf = (id, of = "data") => {
    if (id === null) return null;
    const { [of]: list, shape, dtype } = data.values[id];
    return list === null ? null : array(shape, Float64Array.from(list, fromJson), dtype);
  };
  const inputs = step.inputs.map((id) => arrayOf(id));
  if (inputs.some((x, n) => x === null && step.inputs[n] !== null)) return null;
  const id = step.outputs[which];
  const names = step.inputs.map((value, n) => {
    if (value === null) return "";
    const { name, called, role } = data.values[value];
    const own = role === "parameter" || role === "buffer" ? name.split(".").at(-1) : name;
    return own || called || step.names?.[n] || `x${n + 1}`;
  });
  const about = data.ops?.[step.op] ?? {};
  return {
    step, names, inputs, about, id,
    out: arrayOf(id), g: arrayOf(id, "grad"),
    results: step.outputs.map((made, n) => [step.results?.[n] ?? n, made, arrayOf(made, "grad")]),
    result: step.results?.[which] ?? which,
    outName: data.values[id].name || "out",
    params: numbersOf(step.params),
    needsGrad: (n) => data.values[step.inputs[n]].needs_grad,
    term: (n) => array(inputs[n].shape, Float64Array.from(step.terms[n], fromJson)),
    cell: (n, index, as) => ({ value: step.inputs[n], of: "data", index, ...(as && { as }) }),
    arrived: (index, as) => ({ value: id, of: "grad", index, ...(as && { as }) }),
    made: (index, as) => ({ value: id, of: "data", index, ...(as && { as }) }),
  };
}

function explainerOf(step, look) {
  const rule = ruleOf(step.op);
  if (Object.hasOwn(contractions, step.op)) return contractions[step.op];
  if (Object.hasOwn(rows, step.op)) return rows[step.op];
  if (rule.maps) return moves;
  if (rule.pointwise) return pointwise;
  if (rule.reduces && look.inputs.length === 1) return reduces;
  return null;
}

// ---- elements that were moved -----------------------------------------------------------------

function moves(look, operand, index) {
  const { step, inputs, names, out, outName } = look;
  const found = ruleOf(step.op).maps(inputs, look.params);
  const fromOf = (map, i) => (typeof map.from === "object" ? map.from[i] : (map.from ?? 0));
  if (operand === null) {
    const map = found[look.result];
    const target = at(outName, out.shape, index);
    const place = map.at[index];
    if (place < 0) return { cells: [], formula: `${target} = 0`, numbers: `${target} = 0` };
    const n = fromOf(map, index);
    const source = at(names[n], inputs[n].shape, place);
    return {
      cells: [look.cell(n, place)],
      formula: `${target} = ${source}`,
      numbers: `${target} = ${written(out.data[index])}`,
    };
  }
  const read = []; // [output, its gradient, position]
  for (const [result, value, g] of look.results) {
    const map = found[result];
    map.at.forEach((place, i) => {
      const here = place === index && fromOf(map, i) === operand && !map.mute?.[i];
      if (here && g) read.push([value, g, i]);
    });
  }
  const target = at(`d${names[operand]}`, inputs[operand].shape, index);
  const parts = read.map(([, g, i]) => at("g", g.shape, i));
  return {
    cells: read.map(([value, , i]) => ({ value, of: "grad", index: i })),
    formula: `${target} = ${shortened(parts, " + ") || "0"}`,
    numbers: summed(target, read.map(([, g, i]) => written(g.data[i])), look.term(operand).data[index]),
  };
}

// ---- element by element -----------------------------------------------------------------------

const SIGNS = { add: "+", sub: "−", mul: "·", div: "/" };

function pointwise(look, operand, index) {
  const { step, inputs, names, out, outName, about } = look;
  const places = inputs.map((x) => spread(x.shape, out.shape));
  if (operand === null) {
    const target = at(outName, out.shape, index);
    const given = inputs.map((x, n) => written(x.data[places[n][index]]));
    const result = written(out.data[index]);
    const sign = Object.hasOwn(SIGNS, step.op) ? SIGNS[step.op] : null;
    const inserted = sign
      ? `${given[0]} ${sign} ${bracketed(given[1])}`
      : given.map((number, n) => `${step.names?.[n] ?? names[n]} = ${number}`).join(", ");
    return {
      cells: inputs.map((_, n) => look.cell(n, places[n][index])),
      formula: `out = ${about.formula ?? step.op}`,
      numbers: sign ? `${target} = ${inserted} = ${result}` : `${inserted}: ${target} = ${result}`,
    };
  }
  return pointwiseBack(look, operand, index, places);
}

/** What arrives times the local derivative, added up where the operand was broadcast. */
function pointwiseBack(look, operand, index, places) {
  const { step, inputs, names, out, g } = look;
  const ones = array(out.shape, new Float64Array(sizeOf(out.shape)).fill(1));
  const slope = ruleOf(step.op).backward(ones, inputs, out, look.params)[operand];
  const read = [];
  places[operand].forEach((place, i) => {
    if (place === index) read.push(i);
  });
  const own = `d${names[operand]}`;
  const target = at(own, inputs[operand].shape, index);
  const parts = read.map((i) => `${written(g.data[i])} · ${bracketed(written(slope.data[i]))}`);
  const others = inputs.flatMap((_, n) => read.map((i) => look.cell(n, places[n][i])));
  const whole = `∂out/∂${names[operand]}`;
  return {
    cells: [...read.map((i) => look.arrived(i)), ...unique(others)],
    formula: read.length > 1 ? `${own} = Σ g · ${whole}` : `${own} = g · ${whole}`,
    numbers: summed(target, parts, look.term(operand).data[index]),
  };
}

// ---- reductions -------------------------------------------------------------------------------

const REDUCED = {
  sum: (xs) => shortened(xs, " + "),
  mean: (xs) => `(${shortened(xs, " + ")}) / ${xs.length}`,
  prod: (xs) => shortened(xs, " · "),
  max: (xs) => `max(${shortened(xs, ", ")})`,
  min: (xs) => `min(${shortened(xs, ", ")})`,
};

function reduces(look, operand, index) {
  const { step, inputs, names, out, outName, g, about } = look;
  const { groups } = groupsOf(inputs[0].shape, look.params.axis);
  const items = (group) => Array.from(group, (i) => written(inputs[0].data[i]));
  const inserted = Object.hasOwn(REDUCED, step.op) ? REDUCED[step.op] : null;
  if (operand === null) {
    const target = at(outName, out.shape, index);
    const result = written(out.data[index]);
    return {
      cells: Array.from(groups[index], (i) => look.cell(0, i)),
      formula: `out = ${about.formula ?? step.op}`,
      numbers:
        inserted && groups[index].length
          ? `${target} = ${inserted(items(groups[index]))} = ${result}`
          : `${target} = ${result}`,
    };
  }
  const n = groups.findIndex((group) => group.includes(index));
  const target = at(`d${names[0]}`, inputs[0].shape, index);
  const total = look.term(0).data[index];
  const linear = { sum: () => "", mean: () => ` / ${groups[n].length}` };
  const arrived = written(g.data[n]);
  if (Object.hasOwn(linear, step.op)) {
    const over = linear[step.op]();
    return {
      cells: [look.arrived(n)],
      formula: `${target} = ${at("g", g.shape, n)}${over}`,
      numbers: over ? `${target} = ${arrived}${over} = ${written(total)}` : `${target} = ${arrived}`,
    };
  }
  return {
    cells: [look.arrived(n), ...Array.from(groups[n], (i) => look.cell(0, i)), look.made(n)],
    formula: about.gradient ?? "",
    numbers: `g = ${arrived}: ${target} = ${written(total)}`,
  };
}
