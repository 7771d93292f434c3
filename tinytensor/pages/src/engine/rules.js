/* Every rule that the page knows, by the name of the op in the registry. */

import { activations } from "./activations.js";
import { elementary } from "./elementwise.js";
import { fused } from "./fused.js";
import { losses } from "./losses.js";
import { products } from "./products.js";
import { reductions } from "./reductions.js";
import { shapes } from "./shapes.js";

export const RULES = { ...elementary, ...activations, ...shapes, ...reductions, ...products, ...fused, ...losses };

/** The rule of an op, or null; names come from the page's data, so inherited ones do not count. */
export const ruleOf = (name) => (Object.hasOwn(RULES, name) ? RULES[name] : null);
