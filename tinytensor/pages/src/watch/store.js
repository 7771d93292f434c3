// What the page knows of the run: the data it came with, and what has come since.

const data = JSON.parse(document.getElementById("data").textContent);
export const KINDS = ["gradients", "activations", "attention", "sample"];

const lists = {train: [], val: [], seen: []};
export const store = {
  run: {}, ended: false, stride: 1, mark: "", lost: false, lists,
  of: {gradients: [], activations: [], attention: [], sample: []},  // kind: [step, value], by step
  live: typeof data.every === "number",
};

export function take(answer) {
  store.run = answer.run;
  store.ended = answer.ended;
  store.stride = answer.stride;
  store.mark = answer.mark;
  for (const name of Object.keys(lists)) {
    lists[name].length = Math.min(lists[name].length, answer.at[name]);
    for (const one of answer[name]) lists[name].push(one);
  }
  for (const kind of KINDS) {
    const found = lists.seen.filter(one => one[0] === kind).map(one => [one[1], one[2]]);
    store.of[kind] = found.sort((a, b) => a[0] - b[0]);
  }
}

take({...data, at: {train: 0, val: 0, seen: 0}});

// asks the server, again and again, for what is new
export function follow(changed) {
  if (!store.live) return;
  let wait = data.every;
  const ask = async () => {
    try {
      const answer = await fetch(`data?since=${encodeURIComponent(store.mark)}`, {cache: "no-store"});
      if (!answer.ok) throw new Error(answer.status);
      take(await answer.json());
      store.lost = false;
      wait = data.every;
    } catch {
      store.lost = true;
      wait = Math.min(30000, 2 * wait);
    }
    changed();
    if (!store.ended) setTimeout(ask, wait);
  };
  setTimeout(ask, wait);
}

// all steps that were looked at, and the last one that was done
export function steps() {
  const all = new Set(KINDS.flatMap(kind => store.of[kind].map(one => one[0])));
  const last = lists.train.length ? lists.train[lists.train.length - 1][0] : 0;
  if (!all.size || last > Math.max(...all)) all.add(last);
  return [...all].sort((a, b) => a - b);
}

// the newest of a list of [step, ...] that is not after a step; the first where all are
export function at(list, step) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][0] <= step) low = middle + 1; else high = middle;
  }
  return list[Math.max(0, low - 1)];
}

export const asNumber = value => typeof value === "number" ? value : null;
