/* How an element, a number and a sum are written where it is told what they are made of. */

import { coordinates } from "./arrays.js";

const LONGEST = 8;

/** A number in at most four digits. */
export function written(x) {
  if (Number.isNaN(x)) return "NaN";
  if (Math.abs(x) === Infinity) return x < 0 ? "−∞" : "∞";
  return String(Number(x.toPrecision(4))).replace("-", "−");
}

/** A negative number in brackets, as it stands behind a sign. */
export const bracketed = (text) => (text.startsWith("−") ? `(${text})` : text);

/** "x[1,2]", or "x" of a number. */
export function at(name, shape, index) {
  return shape.length ? `${name}[${coordinates(shape, index).join(",")}]` : name;
}

/** The first few of a list, then "…"; "+ −" is "−". */
export function shortened(parts, between) {
  const text = [...parts.slice(0, LONGEST), ...(parts.length > LONGEST ? ["…"] : [])].join(between);
  return text.replaceAll(" + −", " − ");
}

/** "target = a + b + … = total", the sum left out where it is the total itself. */
export function summed(target, parts, total) {
  const all = written(total);
  if (!parts.length || (parts.length === 1 && parts[0] === all)) return `${target} = ${all}`;
  return `${target} = ${shortened(parts, " + ")} = ${all}`;
}

/** Each cell once. */
export function unique(cells) {
  const seen = new Set();
  return cells.filter(({ value, of, index }) => {
    const key = `${value} ${of} ${index}`;
    return seen.has(key) ? false : seen.add(key);
  });
}
