// The data of the page with numbers for the words that JSON lacks, and what is asked of it often.

const WORDS = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const spelt = x => typeof x === "string" ? WORDS[x] ?? NaN : Number(x);
const flat = list => list && list.map(spelt);
const stats = one => one && Object.fromEntries(Object.entries(one).map(([k, x]) => [k, spelt(x)]));

export function load(raw) {
  const data = { ops: {}, sources: [], backward: [], ...raw };
  data.values = raw.values.map((value, id) => ({
    flags: [], shape: [], ...value, id, data: flat(value.data), grad: flat(value.grad),
    stats: stats(value.stats), grad_stats: stats(value.grad_stats),
  }));
  data.steps = raw.steps.map((step, id) => ({
    ...step, id,
    local: (step.local || []).map(one => one && { ...one, data: flat(one.data) }),
    terms: (step.terms || []).map(flat),
  }));
  return data;
}

// the view in which a step is drawn, and the views from the top down to one
export function trail(data, view) {
  const found = [];
  for (let at = view; at !== null && at !== undefined; at = data.views[at].parent) found.unshift(at);
  return found;
}

// which step of a view makes a value; undefined for what comes from outside
export const makerIn = (data, view, value) =>
  data.views[view].steps.find(id => data.steps[id].outputs.includes(value));

export const isLeaf = (data, value) => data.values[value].role !== "computed";
