// Formulas: MathML that Python wrote, rebuilt element by element, so that nothing else gets in.

import { ruleOf } from "../model/rules.js";

const KNOWN = new Set(("math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover "
  + "munderover mtable mtr mtd mstyle mpadded mphantom menclose span").split(" "));
const ATTRIBUTES = new Set(("class display displaystyle mathvariant width height depth stretchy form fence "
  + "separator lspace rspace accent accentunder columnalign rowspacing columnspacing linethickness "
  + "minsize maxsize symmetric largeop movablelimits scriptlevel intent").split(" "));

const parsed = html => new DOMParser().parseFromString(html, "text/html").body;

function rebuilt(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent;
  const inner = [...node.childNodes].map(rebuilt), name = node.localName;
  if (!KNOWN.has(name)) return inner;
  const Tag = name, attributes = {};
  for (const { name, value } of node.attributes || []) if (ATTRIBUTES.has(name)) attributes[name] = value;
  return <Tag {...attributes}>{inner}</Tag>;
}

export function Formula({ mathml, text }) {
  if (!mathml) return <span class="formula">{text}</span>;
  return <span class="maths">{[...parsed(mathml).childNodes].map(rebuilt)}</span>;
}

// the part of a gradient rule that is about one operand
export function Rule({ op, name }) {
  const text = ruleOf(op?.gradient, name);
  if (!op?.mathml?.gradient || text === op.gradient) return <Formula mathml={op?.mathml?.gradient} text={text} />;
  const holder = parsed(op.mathml.gradient), nodes = [...(holder.querySelector("span.formula") || holder).childNodes];
  const begins = node => /^d\S*$/.test(node.querySelector?.("mi")?.textContent || "") && node.localName === "math";
  const from = nodes.findIndex(node => begins(node) && node.querySelector("mi").textContent === `d${name}`);
  if (from < 0) return <Formula text={text} />;
  const to = nodes.findIndex((node, i) => i > from && begins(node));
  const own = nodes.slice(from, to < 0 ? undefined : to);
  if (own.length > 1 && !own.at(-1).localName) own[own.length - 1] = document.createTextNode(own.at(-1).textContent.replace(/[,;]\s*$/, ""));
  return <span class="maths">{own.map(rebuilt)}</span>;
}
