// Numbers and names as they are shown.

const MINUS = "\u2212";

// about %.4g, with a real minus; bool as the words Python has
export function number(x, digits = 4, dtype = "") {
  if (dtype === "bool") return x ? "True" : "False";
  if (Number.isNaN(x)) return "nan";
  if (x === Infinity) return "inf";
  if (x === -Infinity) return MINUS + "inf";
  const size = Math.abs(x);
  let text;
  if (size === 0) text = "0";
  else if (size < 1e-4 || size >= 10 ** Math.max(6, digits)) {
    text = size.toExponential(digits - 1).replace(/\.?0*e/, "e").replace("e+", "e");
  } else if (size >= 10 ** (digits - 1)) text = String(Math.round(size));
  else text = String(Number(size.toPrecision(digits)));
  return (x < 0 ? MINUS : "") + text.replace("e-", `e${MINUS}`);
}

// numbers that are read together: as many decimals as the largest has in these digits, so that what is
// seen of them adds up; those that would be left with less than two digits keep two of their own
export function aligned(list, digits = 4, dtype = "") {
  const sizes = list.map(Math.abs).filter(Number.isFinite), most = Math.max(0, ...sizes);
  if (dtype === "bool" || sizes.every(Number.isInteger) || most < 1e-4 || most >= 1e6) {
    return list.map(x => number(x, digits, dtype));
  }
  const all = Math.max(0, digits - 1 - Math.floor(Math.log10(most)));
  const own = x => x !== 0 && Number.isFinite(x) && Math.abs(x) >= 9.5 * 10 ** -all;
  const ends = list.filter(own).map(x => x.toFixed(all).replace(/^[^.]*\.?/, "").replace(/0+$/, "").length);
  const kept = Math.max(0, ...ends);
  return list.map(x => own(x) ? (x < 0 ? MINUS : "") + Math.abs(x).toFixed(kept) : number(x, 2));
}

// for a sum or product: negative numbers in brackets
export const bracketed = (x, dtype) =>
  x < 0 ? `(${number(x, 4, dtype)})` : number(x, 4, dtype);

export const count = shape => shape.reduce((all, one) => all * one, 1);

export const shapeText = shape => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

// how the flat numbers of a shape stand in rows: further axes one after the other, 8 to a row
export function rows(shape, size, most = 8) {
  const last = shape.length ? shape[shape.length - 1] : 1, out = [];
  for (let start = 0; start < size; start += Math.max(1, last)) {
    for (let at = start; at < Math.min(size, start + Math.max(1, last)); at += most) {
      const end = Math.min(at + most, start + last, size);
      out.push(Array.from({ length: end - at }, (_, i) => at + i));
    }
  }
  return out;
}

// "[1, 0]" of a flat index
export function position(shape, flat) {
  const at = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    at.unshift(flat % shape[axis]);
    flat = Math.floor(flat / shape[axis]);
  }
  return at.length ? `[${at.join(", ")}]` : "";
}

// a text of the user without characters that nobody sees or that turn others around
export const clean = text =>
  String(text ?? "").replace(/\t/g, "    ")
    .replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, "\ufffd");

export function brief(text, most = 40) {
  const letters = [...clean(text)], half = Math.floor(most / 2);
  return letters.length <= most ? letters.join("")
    : `${letters.slice(0, half).join("")}\u2026${letters.slice(letters.length - half + 1).join("")}`;
}
