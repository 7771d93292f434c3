/* What an element was made of, for products of matrices: a row of one times a column of the other. */

import { axisOf, stridesOf } from "./arrays.js";
import { everyPair, everyProduct, everyTerm, productPlan } from "./products.js";
import { at, bracketed, shortened, summed, written } from "./written.js";

/** The products that matter here, [out, x, y] positions each. */
function found(look, operand, index) {
  const { step, inputs, params } = look;
  const kept = [];
  const visit = (...places) => {
    if (places[operand === null ? 0 : operand + 1] === index) kept.push(places);
  };
  if (step.op === "matmul") everyProduct(productPlan(inputs[0], inputs[1]), visit);
  else if (step.op === "linear") everyPair(inputs[0], inputs[1], visit);
  else everyTerm(inputs, params.subscripts, visit);
  return kept;
}

/** "row" or "column", by how positions in an array of this shape follow each other. */
function line(shape, places) {
  if (shape.length < 1 || places.length < 2) return undefined;
  const step = places[1] - places[0];
  if (step === 1) return "row";
  return shape.length > 1 && step === stridesOf(shape).at(axisOf(-2, shape.length)) ? "column" : undefined;
}

/** Names of the axes of x, y and the result, by how many axes they have. */
function letters({ step, inputs: [x, y], out, params }) {
  if (step.op === "einsum") {
    const [left, right, made] = params.subscripts.split(/,|->/).map((one) => [...one].join(","));
    return [left, right, made];
  }
  const lead = (a, own) => (a.shape.length > 2 ? `…,${own}` : own);
  if (step.op === "linear") {
    const rows = (own) => (x.shape.length === 1 ? own : lead(x, `i,${own}`));
    return [rows("k"), "j,k", rows("j")];
  }
  const left = x.shape.length === 1 ? "k" : lead(x, "i,k");
  const right = y.shape.length === 1 ? "k" : lead(y, "k,j");
  const made = [x.shape.length === 1 ? "" : "i", y.shape.length === 1 ? "" : "j"].filter(Boolean).join(",");
  return [left, right, out.shape.length > 2 ? `…,${made}` : made];
}

const indexed = (name, own) => (own ? `${name}[${own}]` : name);

/** The letters that are summed over: those of the factors that the result has not. */
function summedOver(target, ...factors) {
  const own = new Set(factors.flatMap((factor) => factor.split(",")));
  target.split(",").forEach((letter) => own.delete(letter));
  own.delete("");
  own.delete("…");
  const broadcast = factors.some((f) => f.startsWith("…")) && !target.startsWith("…");
  return [...(broadcast ? ["…"] : []), ...own].join(",");
}

const SMALL = { i: "ᵢ", j: "ⱼ", k: "ₖ" };

function sign(over) {
  if (!over) return "";
  return [...over].every((letter) => Object.hasOwn(SMALL, letter))
    ? `Σ${[...over].map((letter) => SMALL[letter]).join("")} `
    : `Σ(${over}) `;
}

function contraction(look, operand, index) {
  const { step, inputs, names, out, outName, g } = look;
  if (operand === 2) return ofBias(look, index);
  const products = found(look, operand, index);
  const [left, right, made] = letters(look);
  const places = (n) => products.map((three) => three[n]);
  const of = [
    { name: "g", shape: g?.shape ?? out.shape, own: made, numbers: g, cell: look.arrived },
    { name: names[0], shape: inputs[0].shape, own: left, numbers: inputs[0], cell: (i, as) => look.cell(0, i, as) },
    { name: names[1], shape: inputs[1].shape, own: right, numbers: inputs[1], cell: (i, as) => look.cell(1, i, as) },
  ];
  // as one writes them: dx = g · y, dy = x · g
  const [first, second] = { null: [1, 2], 0: [0, 2], 1: step.op === "linear" ? [0, 1] : [1, 0] }[operand];
  const [a, b] = [of[first], of[second]];
  const [as, bs] = [places(first), places(second)];
  const target = operand === null ? { name: outName, shape: out.shape, own: made } : { ...of[operand + 1] };
  if (operand !== null) target.name = `d${target.name}`;
  const bias = operand === null && inputs[2] ? inputs[2] : null;
  const column = bias ? index % bias.data.length : 0;
  const parts = as.map((place, n) => {
    const factors = [a.numbers.data[place], b.numbers.data[bs[n]]];
    return `${written(factors[0])} · ${bracketed(written(factors[1]))}`;
  });
  const more = bias ? ` + ${indexed(names[2], "j")}` : "";
  const own = at(target.name, target.shape, index);
  const total = operand === null ? out.data[index] : look.term(operand).data[index];
  const inserted = bias
    ? `${own} = ${shortened(parts, " + ")} + ${bracketed(written(bias.data[column]))} = ${written(total)}`
    : summed(own, parts, total);
  const over = sign(summedOver(target.own, a.own, b.own));
  return {
    cells: [
      ...as.map((i) => a.cell(i, line(a.shape, as))),
      ...bs.map((i) => b.cell(i, line(b.shape, bs))),
      ...(bias ? [look.cell(2, column)] : []),
    ],
    formula: `${indexed(target.name, target.own)} = ${over}${indexed(a.name, a.own)} · ${indexed(b.name, b.own)}${more}`,
    numbers: inserted,
  };
}

/** What is sent back to the bias: the column of what arrived. */
function ofBias(look, index) {
  const { inputs, names, g } = look;
  const width = inputs[2].data.length;
  const column = Array.from({ length: g.data.length / width }, (_, i) => i * width + index);
  const own = `d${names[2]}`;
  return {
    cells: column.map((i) => look.arrived(i, "column")),
    formula: g.shape.length > 1 ? `${own}[j] = Σᵢ g[i,j]` : `${own}[j] = g[j]`,
    numbers: summed(at(own, inputs[2].shape, index), column.map((i) => written(g.data[i])), look.term(2).data[index]),
  };
}

export const contractions = { matmul: contraction, linear: contraction, einsum: contraction };
