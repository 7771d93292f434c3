export function explainElement() { return null; }
