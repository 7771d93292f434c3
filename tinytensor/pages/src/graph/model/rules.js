// Formulas of the registry as the page shows them.

// the part of "dx = g y, dy = g x" that is about one operand; the whole where it can't be told
export function ruleOf(gradient, name) {
  const parts = (gradient || "").split(/[,;]\s+(?=d\S+ = )/);
  const own = parts.find(part => part.startsWith(`d${name} = `));
  return own || gradient || "";
}

// does a rule speak of this letter? Raised and lowered letters count: e\u1d52\u1d58\u1d57 is about out
const SMALL = /[\u02b0-\u02ff\u1d2c-\u1d6a\u2070-\u209c]+/g;
export const speaksOf = (rule, letter) =>
  (rule.replace(SMALL, part => ` ${part.normalize("NFKD")} `).match(/[\p{L}_][\p{L}\p{N}_]*/gu) || []).includes(letter);

// "x · y" with numbers in the place of letters, for ops with a sign between two scalars
export const SIGNS = { add: "+", sub: "\u2212", mul: "\u00d7", div: "\u00f7", pow: "^" };
