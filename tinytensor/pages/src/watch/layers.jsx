// Gradients and activations, layer by layer.

import { useMemo, useState } from "preact/hooks";
import { Chart, Table, line } from "./chart.jsx";
import { asNumber, at } from "./store.js";
import { percent, short } from "./words.js";

const PARTS = 10;  // lines in a chart, at most, where the names of the layers allow it

// layers as few parts: by the first words of their names, as many words as there is room for
export function depth(names) {
  const count = words => new Set(names.map(name => name.split(".").slice(0, words).join("."))).size;
  let words = 1;
  while (words < 8 && count(words) < names.length && count(words + 1) <= PARTS) words++;
  return words;
}

export function Gradients({ t, store, step, choose, look, version }) {
  const looks = store.of.gradients;
  const { parts, columns } = useMemo(() => {
    const names = [...new Set(looks.flatMap(one => one[1].map(layer => layer[0])))];
    const words = depth(names);
    const part = name => name.split(".").slice(0, words).join(".");
    const parts = [...new Set(names.map(part))];
    const sums = looks.map(([, layers]) => {
      const found = new Map();
      for (const [name, norm] of layers) {
        const all = found.get(part(name)) ?? 0;
        found.set(part(name), Math.hypot(all, asNumber(norm) ?? NaN));
      }
      return found;
    });
    const column = name => sums.map(one => one.get(name) > 0 ? one.get(name) : null);
    return {parts, columns: [looks.map(one => one[0]), ...parts.map(column)]};
  }, [version]);
  const now = looks.length ? at(looks, step) : null;
  return <section aria-labelledby="gradients">
    <h2 id="gradients">{t.gradients}</h2>
    <p class="say">{t.gradientsSay}</p>
    {now === null ? <p class="now">{t.none}</p> : <>
      <Chart {...{t, what: t.gradients, columns, mark: step, choose, look, log: true,
        series: parts.map((label, i) => ({label, ...line(i)}))}} />
      <Table t={t} heads={[t.step, ...parts]} columns={columns} />
      <h3>{t.seenAt(now[0])}</h3>
      <Norms t={t} layers={now[1]} />
    </>}
  </section>;
}

function Norms({ t, layers }) {
  const known = layers.map(one => asNumber(one[1])).filter(norm => norm > 0);
  const most = Math.max(...known, 1e-300), least = Math.min(...known, most);
  const span = Math.max(1, Math.log10(most / least));
  return <div class="wide" tabIndex="0" role="group" aria-label={t.gradients}><table class="layers">
    <thead><tr><th scope="col">{t.layer}</th><th scope="col">{t.norm}</th><td class="room" /></tr></thead>
    <tbody>{layers.map(([name, norm]) => <tr key={name}>
      <th scope="row"><bdi>{name}</bdi></th>
      <td>{short(norm)}</td>
      <td class="room" aria-hidden="true"><span class="bar" style={{
        width: `${norm > 0 ? 4 + 96 * (1 + Math.log10(norm / most) / span) : 0}%`}} /></td>
    </tr>)}</tbody>
  </table></div>;
}

// the numbers of an activation, in the order in which the run wrote them
const SPREAD = ["mean", "std", "min", "p5", "p25", "median", "p75", "p95", "max", "zero", "bad"];
const CURVES = ["p95", "p75", "median", "p25", "p5"];

export function Activations({ t, store, step, choose, look, version }) {
  const looks = store.of.activations;
  const names = useMemo(() => [...new Set(looks.flatMap(one => one[1].map(layer => layer[0])))], [version]);
  const [wanted, want] = useState(null);
  const layer = names.includes(wanted) ? wanted : names[names.length - 1];
  const columns = useMemo(() => {
    const found = looks.map(([s, layers]) => [s, layers.find(one => one[0] === layer)]).filter(one => one[1]);
    return [found.map(one => one[0]), ...CURVES.map(curve =>
      found.map(one => asNumber(one[1][2 + SPREAD.indexOf(curve)])))];
  }, [version, layer]);
  const now = looks.length ? at(looks, step) : null;
  const series = [
    {label: t.p95, colour: "--edge", width: 1, quiet: true},
    {label: t.p75, colour: "--edge", width: 1, quiet: true},
    {label: t.median, colour: "--c0", width: 2.5},
    {label: t.p25, colour: "--edge", width: 1, quiet: true}, {label: t.p5, colour: "--edge", width: 1, quiet: true},
  ];
  const bands = [
    {series: [1, 2], fill: "--outer"}, {series: [2, 4], fill: "--inner"}, {series: [4, 5], fill: "--outer"},
  ];
  return <section aria-labelledby="activations">
    <h2 id="activations">{t.activations}</h2>
    <p class="say">{t.activationsSay}</p>
    {now === null ? <p class="now">{t.none}</p> : <>
      <label class="pick">{t.layer} <select id="layer" value={layer} onChange={e => want(e.currentTarget.value)}>
        {names.map(name => <option key={name} value={name}>{name}</option>)}
      </select></label>
      <Chart {...{t, what: `${t.activations}, ${layer}`, series, more: [[t.middle, "--inner"], [t.most, "--outer"]], columns, bands, mark: step, choose, look}} />
      <Table t={t} heads={[t.step, ...series.map(one => one.label)]} columns={columns} />
      <h3>{t.seenAt(now[0])}</h3>
      <Spreads t={t} layers={now[1]} />
    </>}
  </section>;
}

function Spreads({ t, layers }) {
  const get = (layer, name) => asNumber(layer[2 + SPREAD.indexOf(name)]) ?? 0;
  const most = Math.max(...layers.flatMap(one => [Math.abs(get(one, "p5")), Math.abs(get(one, "p95"))]), 1e-30);
  // a root, so that layers of small numbers are seen beside those of large ones
  const x = value => 75 + 72 * Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / most));
  return <div class="wide" tabIndex="0" role="group" aria-label={t.activations}><table class="layers">
    <thead><tr><th scope="col">{t.layer}</th><td />
      {["mean", "std", "min", "max", "zero", "bad"].map(name => <th key={name} scope="col">{t[name]}</th>)}
      <th scope="col" class="text">{t.kind}</th></tr></thead>
    <tbody>{layers.map(layer => {
      const [p5, p25, p50, p75, p95] = ["p5", "p25", "median", "p75", "p95"].map(name => x(get(layer, name)));
      return <tr key={layer[0]}>
        <th scope="row"><bdi>{layer[0]}</bdi></th>
        <td><svg width="150" height="16" aria-hidden="true">
          <line class="null" x1="75" x2="75" y1="0" y2="16" />
          <rect class="outer" x={p5} y="5" width={Math.max(1, p95 - p5)} height="6" />
          <rect class="inner" x={p25} y="2" width={Math.max(1, p75 - p25)} height="12" />
          <line class="median" x1={p50} x2={p50} y1="1" y2="15" />
        </svg></td>
        {["mean", "std", "min", "max"].map(name =>
          <td key={name}>{short(layer[2 + SPREAD.indexOf(name)])}</td>)}
        <td>{percent(get(layer, "zero"))}</td>
        <td class={get(layer, "bad") ? "alarm" : ""}>{short(get(layer, "bad"))}</td>
        <td class="text"><bdi>{layer[1]}</bdi></td>
      </tr>;
    })}</tbody>
  </table></div>;
}
