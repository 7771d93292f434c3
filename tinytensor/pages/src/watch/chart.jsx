// A chart over the steps, drawn by uPlot; what it shows is also there as a table.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { short } from "./words.js";

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
export const line = i => ({colour: `--c${i % 6}`, dash: DASHES[Math.floor(i / 6) % DASHES.length]});

// series: [{label, colour, dash, width, dots}], columns: [steps, ...one for each]; bands between two
// of them: [{series: [upper, lower], fill}]; mark: the step that is shown
export function Chart({ t, what, series, more = [], columns, bands, mark, choose, log, look }) {
  const place = useRef(), plot = useRef(), now = useRef();
  now.current = {mark, choose, columns};
  const shape = [look, log, what, ...series.map(one => one.label)].join("\n");
  useEffect(() => {
    const own = getComputedStyle(document.documentElement);
    const colour = name => own.getPropertyValue(name).trim();
    const axis = {stroke: colour("--soft"), grid: {stroke: colour("--line"), width: 1},
      ticks: {stroke: colour("--line"), width: 1}, font: "12px system-ui, sans-serif"};
    const drawn = new uPlot({
      width: Math.max(200, place.current.clientWidth), height: 230, legend: {show: false},
      cursor: {y: false, drag: {x: false, y: false}, points: {show: false}},
      scales: {x: {time: false}, y: log ? {distr: 3} : {}},
      axes: [
        {...axis, size: 32, values: (_, ticks) => ticks.map(tick => Number.isInteger(tick) ? short(tick) : "")},
        {...axis, size: 56, ...log ? {splits: powers, filter: (_, splits) => splits} : {}, values: (_, ticks) => ticks.map(tick => tick === null ? "" : short(tick))},
      ],
      series: [{}, ...series.map(one => ({
        label: one.label, stroke: one.colour && colour(one.colour), dash: one.dash, spanGaps: true,
        width: one.width ?? 1.75, points: {show: Boolean(one.dots), size: 6, fill: one.colour && colour(one.colour)},
      }))],
      bands: bands?.map(band => ({series: band.series, fill: colour(band.fill)})),
      hooks: {draw: [chart => {
        const { mark } = now.current;
        if (mark === null || mark < chart.scales.x.min || mark > chart.scales.x.max) return;
        const x = chart.valToPos(mark, "x", true), { top, height } = chart.bbox;
        chart.ctx.save();
        chart.ctx.strokeStyle = colour("--mark");
        chart.ctx.lineWidth = 1.5 * devicePixelRatio;
        chart.ctx.beginPath();
        chart.ctx.moveTo(x, top);
        chart.ctx.lineTo(x, top + height);
        chart.ctx.stroke();
        chart.ctx.restore();
      }]},
    }, now.current.columns, place.current);
    drawn.over.addEventListener("click", () =>
      now.current.choose(Math.round(drawn.posToVal(drawn.cursor.left, "x"))));
    plot.current = drawn;
    const watcher = new ResizeObserver(() => {
      const width = Math.max(200, place.current.clientWidth);
      if (width !== drawn.width) drawn.setSize({width, height: 230});
    });
    watcher.observe(place.current);
    return () => { watcher.disconnect(); drawn.destroy(); };
  }, [shape]);
  useEffect(() => { plot.current.setData(columns); }, [columns]);
  useEffect(() => { plot.current.redraw(false); }, [mark]);
  const known = columns[0];
  return <>
    <Key series={series} more={more} />
    <div class="chart" ref={place} role="img"
      aria-label={t.chart(what, known[0] ?? 0, known[known.length - 1] ?? 0)} />
  </>;
}

// the ticks of a logarithmic axis: powers of ten, at most seven
function powers(_, axis, low, high) {
  const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9);
  const apart = Math.max(1, Math.ceil((to - from) / 6)), ticks = [];
  for (let power = from; power <= to; power += apart) ticks.push(Number(`1e${power}`));
  return ticks;
}

function Key({ series, more }) {
  return <ul class="key">{series.filter(one => one.label && !one.quiet).map(one =>
    <li key={one.label}>
      <svg width="26" height="10" aria-hidden="true">
        <line x1="0" y1="5" x2="26" y2="5" stroke-width={one.dots ? 0 : 2.5}
          stroke-dasharray={(one.dash ?? []).join(" ")} style={{stroke: `var(${one.colour})`}} />
        {one.dots && <circle cx="13" cy="5" r="4" style={{fill: `var(${one.colour})`}} />}
      </svg>
      <bdi>{one.label}</bdi>
    </li>)}
    {more.map(([label, colour]) => <li key={label}>
      <svg width="26" height="10" aria-hidden="true">
        <rect width="26" height="10" style={{fill: `var(${colour})`}} />
      </svg>
      {label}
    </li>)}
  </ul>;
}

// at most so many rows, evenly spread, of a chart's columns
export function Table({ t, heads, columns, most = 24 }) {
  const count = columns[0].length;
  const rows = count <= most ? [...Array(count).keys()]
    : [...new Set([...Array(most).keys()].map(i => Math.round(i * (count - 1) / (most - 1))))];
  return <details>
    <summary>{t.table}</summary>
    <div class="wide" tabIndex="0" role="group" aria-label={t.table}><table>
      <thead><tr>{heads.map((head, i) => <th key={i} scope="col"><bdi>{head}</bdi></th>)}</tr></thead>
      <tbody>{rows.map(row => <tr key={row}>{columns.map((column, i) => i === 0
        ? <th key={i} scope="row">{column[row]}</th> : <td key={i}>{short(column[row])}</td>)}</tr>)}</tbody>
    </table></div>
  </details>;
}
