// Where the model looks in the fixed sentence.

import { useState } from "preact/hooks";
import { at } from "./store.js";
import { percent } from "./words.js";

function shares(one) {  // bytes, 255 for all of it: head by head, row by row
  const raw = atob(one.weights);
  return Uint8Array.from(raw, character => character.charCodeAt(0));
}

export function Attention({ t, store, step }) {
  const looks = store.of.attention, now = looks.length ? at(looks, step) : null;
  const [wanted, want] = useState("");
  const [said, say] = useState("");
  const maps = now === null ? [] : now[1];
  const name = one => `${one.kind}\n${one.layer}`;
  const map = maps.find(one => name(one) === wanted) ?? maps[maps.length - 1];
  return <section aria-labelledby="attention">
    <h2 id="attention">{t.attention}</h2>
    {map ? <>
      <p class="say">{t.attentionSay(store.run.sentence ?? "")}</p>
      <label class="pick">{t.layer} <select id="map" value={name(map)} onChange={e => want(e.currentTarget.value)}>
        {maps.map(one => <option key={name(one)} value={name(one)}>{t.ofLayer(one.kind, one.layer)}</option>)}
      </select></label>
      <h3>{t.seenAt(now[0])}</h3>
      <p class="now detail">{said || "\u00a0"}</p>
      <div class="heads">{[...Array(map.heads).keys()].map(head =>
        <Head key={head} {...{t, map, head, all: shares(map), say}} />)}</div>
      <Shares t={t} map={map} all={shares(map)} />
    </> : <p class="now">{store.run.sentence === null ? t.noAttention : t.none}</p>}
  </section>;
}

const CELL = 13, LEFT = 40, TOP = 34;

function Head({ t, map, head, all, say }) {
  const rows = map.queries.length, columns = map.keys.length, first = head * rows * columns;
  const width = LEFT + columns * CELL, height = TOP + rows * CELL;
  const cells = [];
  for (let i = 0; i < rows * columns; i++) {
    const share = all[first + i] / 255;
    if (share > 0) {
      cells.push(<rect key={i} x={LEFT + (i % columns) * CELL} y={TOP + Math.floor(i / columns) * CELL}
        width={CELL} height={CELL} fill-opacity={Math.pow(share, 0.6)} />);
    }
  }
  const point = event => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) * width / box.width - LEFT) / CELL);
    const row = Math.floor(((event.clientY - box.top) * height / box.height - TOP) / CELL);
    if (row < 0 || column < 0 || row >= rows || column >= columns) return say("");
    const share = all[first + row * columns + column] / 255;
    say(`${t.head(head + 1)}: ${t.looks(map.queries[row], map.keys[column], percent(share))}`);
  };
  const title = `${t.ofLayer(map.kind, map.layer)}, ${t.head(head + 1)}`;
  return <figure>
    <figcaption>{t.head(head + 1)}</figcaption>
    <svg class="map" viewBox={`0 0 ${width} ${height}`} style={{maxWidth: `${width}px`}} role="img"
      aria-label={title} onPointerMove={point} onPointerDown={point}>
      {map.keys.map((key, i) => <text key={i} x={LEFT + i * CELL + CELL / 2} y={TOP - 5}
        text-anchor={wide(key) ? "start" : "middle"}
        transform={wide(key) ? `rotate(-60 ${LEFT + i * CELL + CELL / 2} ${TOP - 5})` : undefined}>{key}</text>)}
      {map.queries.map((query, i) => <text key={i} x={LEFT - 4} y={TOP + i * CELL + 10} text-anchor="end">{query}</text>)}
      <rect class="field" x={LEFT} y={TOP} width={columns * CELL} height={rows * CELL} />
      <g class="cells">{cells}</g>
    </svg>
  </figure>;
}

const wide = symbol => symbol.length > 1;

function Shares({ t, map, all }) {
  const [open, show] = useState(false);
  const rows = map.queries.length, columns = map.keys.length;
  return <details onToggle={event => show(event.currentTarget.open)}>
    <summary>{t.table}</summary>
    {open && [...Array(map.heads).keys()].map(head =>
      <div key={head} class="wide" tabIndex="0" role="group" aria-label={`${t.table}, ${t.head(head + 1)}`}>
        <table class="shares">
          <caption>{t.ofLayer(map.kind, map.layer)}, {t.head(head + 1)}</caption>
          <thead><tr><td />{map.keys.map((key, i) => <th key={i} scope="col"><bdi>{key}</bdi></th>)}</tr></thead>
          <tbody>{map.queries.map((query, row) => <tr key={row}><th scope="row"><bdi>{query}</bdi></th>
            {map.keys.map((_, column) => {
              const share = all[(head * rows + row) * columns + column] / 255;
              return <td key={column}>{share ? percent(share) : ""}</td>;
            })}</tr>)}</tbody>
        </table>
      </div>)}
  </details>;
}
