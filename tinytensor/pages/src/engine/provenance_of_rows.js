/* What an element was made of, for ops that work on rows: softmax, layer_norm and losses.

   Every function takes what `lookInto` found, the number of an operand for what is sent back to it
   or null for forward, and the element's index. */

import { groupsOf } from "./arrays.js";
import { at, bracketed, shortened, summed, unique, written } from "./written.js";

/** The row of an element along an axis: [positions, place in the row]. */
function rowOf(shape, axis, index) {
  const group = groupsOf(shape, axis).groups.find((one) => one.includes(index));
  return [Array.from(group), group.indexOf(index)];
}

function softmax(look, operand, index) {
  const { inputs, names, out, outName, g, params } = look;
  const [row, place] = rowOf(inputs[0].shape, params.axis ?? -1, index);
  const exps = row.map((i) => `e^${bracketed(written(inputs[0].data[i]))}`);
  const own = `${outName}`;
  if (operand === null) {
    const target = at(own, out.shape, index);
    return {
      cells: row.map((i) => look.cell(0, i, "row")),
      formula: `${own}[i] = e^${names[0]}[i] / Σⱼ e^${names[0]}[j]`,
      numbers: `${target} = ${exps[place]} / (${shortened(exps, " + ")}) = ${written(out.data[index])}`,
    };
  }
  const parts = row.map((i) => `${written(g.data[i])} · ${bracketed(written(out.data[i]))}`);
  const target = at(`d${names[0]}`, inputs[0].shape, index);
  return {
    cells: [...row.map((i) => look.arrived(i, "row")), ...row.map((i) => look.made(i, "row"))],
    formula: `d${names[0]}[i] = ${own}[i] · (g[i] − Σⱼ g[j] · ${own}[j])`,
    numbers: `${target} = ${written(out.data[index])} · (${written(g.data[index])} − (${shortened(parts, " + ")})) = ${written(look.term(0).data[index])}`,
  };
}

function logSoftmax(look, operand, index) {
  const { inputs, names, out, outName, g, params } = look;
  const [row] = rowOf(inputs[0].shape, params.axis ?? -1, index);
  if (operand === null) {
    const exps = row.map((i) => `e^${bracketed(written(inputs[0].data[i]))}`);
    const x = written(inputs[0].data[index]);
    return {
      cells: row.map((i) => look.cell(0, i, "row")),
      formula: `${outName}[i] = ${names[0]}[i] − ln Σⱼ e^${names[0]}[j]`,
      numbers: `${at(outName, out.shape, index)} = ${x} − ln(${shortened(exps, " + ")}) = ${written(out.data[index])}`,
    };
  }
  const arrived = shortened(row.map((i) => written(g.data[i])), " + ");
  const target = at(`d${names[0]}`, inputs[0].shape, index);
  return {
    cells: [...row.map((i) => look.arrived(i, "row")), look.made(index)],
    formula: `d${names[0]}[i] = g[i] − e^${outName}[i] · Σⱼ g[j]`,
    numbers: `${target} = ${written(g.data[index])} − e^${bracketed(written(out.data[index]))} · (${arrived}) = ${written(look.term(0).data[index])}`,
  };
}

function crossEntropy(look, operand, index) {
  const { inputs, names, out, outName, g, params } = look;
  const [logits, target] = inputs;
  const width = logits.shape.at(-1);
  const reduction = params.reduction ?? "mean";
  const counts = Array.from(target.data, (id) => id !== (params.ignore_index ?? -100));
  const n = reduction === "mean" ? counts.filter(Boolean).length : 1;
  if (params.label_smoothing) return null;
  const rowCells = (row) => Array.from({ length: width }, (_, j) => look.cell(0, row * width + j, "row"));
  if (operand === null) {
    const rows = reduction === "none" ? [index] : [...target.data.keys()].filter((i) => counts[i]);
    const losses = rows.map((i) => {
      const row = logits.data.subarray(i * width, (i + 1) * width);
      const top = Math.max(...row);
      const log = Math.log(row.reduce((sum, x) => sum + Math.exp(x - top), 0)) + top;
      return written(log - row[target.data[i]]);
    });
    const whole = `ln Σⱼ e^${names[0]}[i,j] − ${names[0]}[i,${names[1]}[i]]`;
    const result = written(out.data[index]);
    const sum = shortened(losses, " + ");
    return {
      cells: rows.flatMap((i) => [...rowCells(i), look.cell(1, i)]),
      formula: reduction === "none" ? `${outName}[i] = ${whole}` : `${outName} = Σᵢ (${whole})${n === 1 ? "" : ` / ${n}`}`,
      numbers: `${at(outName, out.shape, index)} = ${n === 1 ? sum : `(${sum}) / ${n}`} = ${result}`,
    };
  }
  const row = Math.floor(index / width);
  const arrived = g.data.length === 1 ? 0 : row;
  const hit = target.data[row] === index % width;
  const items = logits.data.subarray(row * width, (row + 1) * width);
  const top = Math.max(...items);
  const share = Math.exp(logits.data[index] - top) / items.reduce((sum, x) => sum + Math.exp(x - top), 0);
  const over = n === 1 ? "" : ` / ${n}`;
  const own = at(`d${names[0]}`, logits.shape, index);
  const inserted = counts[row] ? `(${written(share)} − ${hit ? 1 : 0}) · ${written(g.data[arrived])}${over} = ` : "";
  return {
    cells: [look.arrived(arrived), ...rowCells(row), look.cell(1, row)],
    formula: `d${names[0]}[i,j] = (softmax(${names[0]}[i])[j] − [j = ${names[1]}[i]]) · g${over}`,
    numbers: `${own} = ${inserted}${written(look.term(0).data[index])}`,
  };
}

/** The statistics of a row: [mean, 1 / √(var + eps)]. */
function moments(x, row, eps) {
  const items = row.map((i) => x.data[i]);
  const mean = items.reduce((a, b) => a + b, 0) / items.length;
  const variance = items.reduce((sum, e) => sum + (e - mean) ** 2, 0) / items.length;
  return [mean, variance, 1 / Math.sqrt(variance + eps)];
}

function layerNorm(look, operand, index) {
  const { inputs, names, out, outName, g, params, about } = look;
  const [x, weight, bias] = inputs;
  const eps = params.eps ?? 1e-5;
  const width = x.shape.at(-1);
  const rowAt = (i) => rowOf(x.shape, -1, i)[0];
  if (operand === null) {
    const row = rowAt(index);
    const [mean, variance] = moments(x, row, eps);
    const column = index % width;
    const scaled = weight ? ` · ${bracketed(written(weight.data[column]))}` : "";
    const moved = bias ? ` + ${bracketed(written(bias.data[column]))}` : "";
    const root = `√(${written(variance)} + ${written(eps)})`;
    return {
      cells: [
        ...row.map((i) => look.cell(0, i, "row")),
        ...(weight ? [look.cell(1, column)] : []),
        ...(bias ? [look.cell(2, column)] : []),
      ],
      formula: `${outName} = (${names[0]} − mean) / √(var + eps)${weight ? ` · ${names[1]}` : ""}${bias ? ` + ${names[2]}` : ""}`,
      numbers: `${at(outName, out.shape, index)} = (${written(x.data[index])} − ${bracketed(written(mean))}) / ${root}${scaled}${moved} = ${written(out.data[index])}`,
    };
  }
  const own = at(`d${names[operand]}`, inputs[operand].shape, index);
  const total = look.term(operand).data[index];
  if (operand === 0) {
    const row = rowAt(index);
    return {
      cells: [
        ...row.map((i) => look.arrived(i, "row")),
        ...row.map((i) => look.cell(0, i, "row")),
        ...(weight ? row.map((i) => look.cell(1, i % width)) : []),
      ],
      formula: about.gradient ?? "",
      numbers: `g = ${written(g.data[index])}: ${own} = ${written(total)}`,
    };
  }
  const column = Array.from({ length: x.data.length / width }, (_, i) => i * width + index);
  const standard = (i) => {
    const [mean, , scale] = moments(x, rowAt(i), eps);
    return (x.data[i] - mean) * scale;
  };
  const parts = column.map((i) =>
    operand === 1 ? `${written(g.data[i])} · ${bracketed(written(standard(i)))}` : written(g.data[i]),
  );
  return {
    cells: [
      ...column.map((i) => look.arrived(i, "column")),
      ...(operand === 1 ? unique(column.flatMap((i) => rowAt(i).map((j) => look.cell(0, j)))) : []),
    ],
    formula: operand === 1 ? `d${names[1]}[j] = Σᵢ g[i,j] · x̂[i,j]` : `d${names[2]}[j] = Σᵢ g[i,j]`,
    numbers: summed(own, parts, total),
  };
}

function squaredError(look, operand, index) {
  const { inputs, names, out, outName, g, params } = look;
  const [x, y] = inputs;
  const reduction = params.reduction ?? "mean";
  const n = reduction === "mean" ? x.data.length : 1;
  const over = n === 1 ? "" : ` / ${n}`;
  const pairs = reduction === "none" ? [index] : [...x.data.keys()];
  const difference = (i) => `(${written(x.data[i])} − ${bracketed(written(y.data[i]))})`;
  if (operand === null) {
    const sum = shortened(pairs.map((i) => `${difference(i)}²`), " + ");
    const target = at(outName, out.shape, index);
    return {
      cells: pairs.flatMap((i) => [look.cell(0, i), look.cell(1, i)]),
      formula: `${outName} = ${reduction === "none" ? "" : "Σ "}(${names[0]} − ${names[1]})²${over}`,
      numbers: `${target} = ${over ? `(${sum})${over}` : sum} = ${written(out.data[index])}`,
    };
  }
  const arrived = g.data.length === 1 ? 0 : index;
  const sign = operand === 0 ? "" : "−";
  const own = at(`d${names[operand]}`, x.shape, index);
  return {
    cells: [look.arrived(arrived), look.cell(0, index), look.cell(1, index)],
    formula: `d${names[operand]} = ${sign}2 · g · (${names[0]} − ${names[1]})${over}`,
    numbers: `${own} = ${sign}2 · ${bracketed(written(g.data[arrived]))} · ${difference(index)}${over} = ${written(look.term(operand).data[index])}`,
  };
}

export const rows = {
  softmax,
  log_softmax: logSoftmax,
  cross_entropy: crossEntropy,
  layer_norm: layerNorm,
  mse_loss: squaredError,
};
