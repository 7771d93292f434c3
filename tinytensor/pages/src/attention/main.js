const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const kinds = [...new Set(data.maps.map(map => map.kind))];
const state = {kind: kinds[0], layer: 1, head: 0, row: null};  // head 0 is the mean of all
const percent = share => share >= 0.0995 || share === 0 ? `${Math.round(100 * share)}%`
  : share < 0.0005 ? "<0.1%" : `${(100 * share).toFixed(1)}%`;
let map, shares, full;  // what is shown: its data, shares row by row, and which has full colour

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

function make(tag, text, into) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (into) into.append(element);
  return element;
}

// ---- choices: radio buttons, which arrow keys move through --------------------------------------

function choices() {
  const form = at("choice");
  const layers = data.maps.filter(one => one.kind === state.kind).map(one => one.layer);
  if (!layers.includes(state.layer)) state.layer = layers[0];
  const heads = data.maps.find(one => one.kind === state.kind && one.layer === state.layer).largest;
  if (state.head > heads.length || heads.length === 1) state.head = heads.length === 1 ? 1 : 0;
  const focused = document.activeElement && document.activeElement.name;
  form.replaceChildren();
  group(form, "attention of", "kind", kinds.map(kind => [kind, kind]));
  group(form, "layer", "layer", layers.map(layer => [layer, layer]));
  const all = heads.map((_, i) => [i + 1, i + 1]);
  group(form, "head", "head", heads.length === 1 ? all : [[0, "mean"], ...all]);
  const again = focused && form.querySelector(`input[name=${focused}]:checked`);
  if (again) again.focus();
}

function group(form, title, name, options) {
  if (options.length < 2) return;  // there is nothing to choose
  const set = make("fieldset", undefined, form);
  make("legend", title, set);
  const row = make("div", undefined, set);
  row.className = "choices";
  for (const [value, text] of options) {
    const label = make("label", undefined, row), input = make("input", undefined, label);
    input.type = "radio";
    input.name = name;
    input.checked = state[name] === value;
    input.addEventListener("change", () => { state[name] = value; show(); });
    make("span", text, label);
  }
}

// ---- the numbers ---------------------------------------------------------------------------------

function load() {
  map = data.maps.find(one => one.kind === state.kind && one.layer === state.layer);
  if (!map.bytes) map.bytes = bytes(map.weights);
  const size = map.queries.length * map.keys.length;
  shares = new Float32Array(size);
  const chosen = state.head ? [state.head - 1] : map.largest.map((_, i) => i);
  for (const head of chosen) {
    const scale = map.largest[head] / 255 / chosen.length, start = head * size;
    for (let i = 0; i < size; i++) shares[i] += map.bytes[start + i] * scale;
  }
  // a few rows may have larger shares, such as the first symbol of a text, which sees itself only
  const best = map.queries.map((_, i) => row(i).reduce((most, share) => Math.max(most, share), 0));
  full = best.sort((a, b) => a - b)[Math.floor(0.9 * (best.length - 1))];
}

const row = index => shares.subarray(index * map.keys.length, (index + 1) * map.keys.length);

// how deep a colour, from 0 to 1: small shares a little deeper, so that they can be seen
const depth = share => share > 0 ? Math.min(1, share / full) ** 0.7 : 0;

let none, all;  // colours of no share and of a full one, as the variables of the page say

function mixed(share) {
  const deep = depth(share);
  return none.map((part, i) => Math.round(part + (all[i] - part) * deep));
}

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const rgb = name => [1, 3, 5].map(i => parseInt(style(name).slice(i, i + 2), 16));

// ---- the map -------------------------------------------------------------------------------------

let cell = 1, left = 0, above = 0, dense = 1;
const drawn = make("canvas");  // the map without the row that is lit

function paint() {
  const rows = map.queries.length, columns = map.keys.length, canvas = at("map");
  [none, all] = [rgb("--none"), rgb("--all")];
  const longest = labels => labels.reduce((most, label) => Math.max(most, label.length), 0);
  const room = Math.max(240, Math.min(document.body.clientWidth - 32, 720));
  const turned = longest(map.keys) > 1;
  left = 10 + 8 * longest(map.queries);
  above = turned ? 10 + 8 * longest(map.keys) : 20;
  cell = Math.min(26, Math.floor((room - left) / columns));
  const named = cell >= 11;
  if (!named) {
    left = above = 2;
    cell = Math.max(columns > 1500 ? 1 : 2, Math.min(11, Math.floor(room / columns)));
  }
  const width = left + columns * cell + 2, height = above + rows * cell + 2;
  dense = width * height > 4e6 ? 1 : Math.min(2, window.devicePixelRatio || 1);
  canvas.width = drawn.width = width * dense;
  canvas.height = drawn.height = height * dense;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = drawn.getContext("2d");
  pen.scale(dense, dense);
  const dots = new ImageData(columns, rows);
  for (let i = 0; i < shares.length; i++) {
    dots.data.set(mixed(shares[i]), 4 * i);
    dots.data[4 * i + 3] = 255;
  }
  const small = make("canvas");
  small.width = columns;
  small.height = rows;
  small.getContext("2d").putImageData(dots, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, left, above, columns * cell, rows * cell);
  pen.strokeStyle = style("--line");
  pen.strokeRect(left - .5, above - .5, columns * cell + 1, rows * cell + 1);
  if (named) {
    pen.font = `${Math.min(14, cell - 1)}px ui-monospace, "DejaVu Sans Mono", monospace`;
    pen.direction = "ltr";
    pen.textBaseline = "middle";
    pen.fillStyle = style("--ink");
    for (let i = 0; i < rows; i++) {
      pen.textAlign = "right";
      pen.fillText(map.queries[i], left - 5, above + (i + .5) * cell);
    }
    for (let i = 0; i < columns; i++) {
      pen.save();
      pen.translate(left + (i + .5) * cell, above - 4);
      if (turned) pen.rotate(-Math.PI / 2);
      pen.textAlign = turned ? "left" : "center";
      pen.textBaseline = turned ? "middle" : "bottom";
      pen.fillText(map.keys[i], 0, 0);
      pen.restore();
    }
  }
  outline();
}

function outline() {  // of the row that is lit
  const pen = at("map").getContext("2d");
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, drawn.width, drawn.height);
  pen.drawImage(drawn, 0, 0);
  if (state.row === null) return;
  pen.scale(dense, dense);
  pen.strokeStyle = style("--mark");
  pen.lineWidth = 2;
  pen.strokeRect(left - 1, above + state.row * cell - 1, map.keys.length * cell + 2, cell + 2);
}

// ---- the symbols ---------------------------------------------------------------------------------

function tokens() {
  const queries = document.createDocumentFragment(), keys = document.createDocumentFragment();
  map.queries.forEach((label, i) => {
    const button = make("button", label, queries);
    button.type = "button";
    button.tabIndex = i === (state.row || 0) ? 0 : -1;  // one stop for Tab, arrows within
    button.dataset.row = i;
  });
  map.keys.forEach(label => make("span", label, keys));
  at("queries").replaceChildren(queries);
  at("keys").replaceChildren(keys);
}

function light(index) {
  const buttons = at("queries").children, spans = at("keys").children;
  if (state.row !== null && buttons[state.row]) {
    buttons[state.row].setAttribute("aria-pressed", "false");
    buttons[state.row].tabIndex = -1;
  }
  state.row = index;
  const detail = at("detail");
  detail.replaceChildren();
  if (index === null) {
    for (const span of spans) span.removeAttribute("style");
    detail.textContent = "Point at a symbol or a row, or go to the symbols with Tab and through "
      + "them with the arrow keys, to see where it looks.";
  } else {
    buttons[index].setAttribute("aria-pressed", "true");
    buttons[0].tabIndex = -1;
    buttons[index].tabIndex = 0;
    const own = row(index), best = [...own.keys()].sort((a, b) => own[b] - own[a]).slice(0, 6);
    for (let i = 0; i < own.length; i++) {
      spans[i].style.background = `rgb(${mixed(own[i])})`;
      spans[i].style.color = depth(own[i]) > .55 ? "var(--page)" : "";
    }
    make("bdi", map.queries[index], detail);
    detail.append(` (${index + 1} of ${map.queries.length}) looks at `);
    best.filter(i => own[i] >= .0005).forEach((i, n) => {
      detail.append(n ? ", " : "");
      make("bdi", map.keys[i], detail);
      detail.append(` (${i + 1}) ${percent(own[i])}`);
    });
    if (!best.some(i => own[i] >= .0005)) detail.append("nothing");
  }
  outline();
}

function show() {
  choices();
  load();
  if (state.row !== null && state.row >= map.queries.length) state.row = null;
  const writes = state.kind === "answer to input";
  at("asks").textContent = writes ? "What it writes; choose a symbol" : "From; choose a symbol";
  at("seen").textContent = writes ? "where it looks in the input" : "where it looks";
  at("say").textContent = "Each row is a symbol that looks, and sums to 1; the stronger the colour, "
    + `the more a column gets. Full colour: ${percent(full)} or more.`;
  at("map").setAttribute("aria-label", `Attention, ${map.kind}, layer ${map.layer}, `
    + (state.head ? `head ${state.head}` : "mean of all heads"));
  tokens();
  paint();
  light(state.row);
}

// ---- pointer and keys ----------------------------------------------------------------------------

const chosen = event => event.target.closest("button[data-row]");
at("queries").addEventListener("pointerover", event => {
  if (chosen(event)) light(Number(chosen(event).dataset.row));
});
at("queries").addEventListener("focusin", event => {
  if (chosen(event)) light(Number(chosen(event).dataset.row));
});
at("queries").addEventListener("keydown", event => {
  const last = map.queries.length - 1, now = state.row || 0;
  const to = {ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1,
    Home: 0, End: last}[event.key];
  if (to === undefined) return;
  event.preventDefault();
  at("queries").children[Math.max(0, Math.min(last, to))].focus();
});
at("map").addEventListener("pointermove", event => {
  const index = Math.floor((event.offsetY - above) / cell);
  if (index >= 0 && index < map.queries.length && index !== state.row) light(index);
});
document.addEventListener("keydown", event => { if (event.key === "Escape") light(null); });
window.addEventListener("resize", () => paint());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  paint();
  light(state.row);
});

at("choice").addEventListener("submit", event => event.preventDefault());
at("title").textContent = data.title;
at("about").textContent = data.about;
show();
