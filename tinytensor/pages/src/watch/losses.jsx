// The losses of the run.

import { useMemo } from "preact/hooks";
import { Chart, Table } from "./chart.jsx";
import { asNumber, at } from "./store.js";
import { short } from "./words.js";

export function Losses({ t, store, step, choose, look, version }) {
  const { train, val } = store.lists, base = asNumber(store.run.baseline);
  const columns = useMemo(() => {
    const losses = new Map(train.map(one => [one[0], asNumber(one[1])]));
    const checks = new Map(val.map(one => [one[0], asNumber(one[1])]));
    const steps = [...new Set([...losses.keys(), ...checks.keys()])].sort((a, b) => a - b);
    const found = [steps, steps.map(s => losses.get(s) ?? null), steps.map(s => checks.get(s) ?? null)];
    return base === null ? found : [...found, steps.map(() => base)];
  }, [version, base]);
  const series = [
    {label: t.train, colour: "--c0"},
    {label: t.val, colour: "--c1", dots: true, width: 1},
    ...base === null ? [] : [{label: t.baseline, colour: "--soft", dash: [4, 4], width: 1}],
  ];
  const now = at(train, step), check = at(val, step);
  const shown = val.length && check[0] <= step;
  return <section aria-labelledby="loss">
    <h2 id="loss">{t.loss}</h2>
    {train.length ? <>
      <p class="now" id="losses-now">
        {t.lossNow(now[0], short(now[1]), store.stride)}{shown ? `; ${t.valNow(check[0], short(check[1]))}` : ""}
        ; {t.lr} {short(now[2])}; {t.norm} {short(now[3])}.
      </p>
      <Chart {...{t, what: t.loss, series, columns, mark: step, choose, look}} />
      <Table t={t} heads={[t.step, ...series.map(one => one.label)]} columns={columns} />
    </> : <p class="now">{t.noLoss}</p>}
  </section>;
}
