// Formulas of the registry as the page shows them.

// the part of "dx = g y, dy = g x" that is about one operand; the whole where it can't be told
export function ruleOf(gradient, name) {
  const parts = (gradient || "").split(/[,;]\s+(?=d\S+ = )/);
  const own = parts.find(part => part.startsWith(`d${name} = `));
  return own || gradient || "";
}

// "x · y" with numbers in the place of letters, for ops with a sign between two scalars
export const SIGNS = { add: "+", sub: "\u2212", mul: "\u00d7", div: "\u00f7", pow: "^" };
