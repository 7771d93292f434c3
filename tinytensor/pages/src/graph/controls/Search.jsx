// Find a node by its name, in all views.

import { useState } from "preact/hooks";
import { nameOf } from "../model/names.js";
import { brief, shapeText } from "../model/numbers.js";

const MOST = 12;

export function Search({ data, words, go }) {
  const { say } = words, [text, setText] = useState("");
  const asked = text.trim().toLowerCase(), found = [];
  if (asked) {
    const seen = new Set();
    data.views.forEach((view, id) => {
      for (const step of view.steps) {
        const one = data.steps[step];
        if (`${one.op} ${one.symbol} ${one.note}`.toLowerCase().includes(asked)) found.push({ view: id, step, title: one.symbol.length > 1 ? one.symbol : one.op });
      }
      for (const value of view.values) {
        const one = data.values[value];
        if (seen.has(value) || !`${one.name} ${one.called} ${one.flags.join(" ")}`.toLowerCase().includes(asked)) continue;
        seen.add(value);
        found.push({ view: id, value, title: `${nameOf(data, value, words)} ${shapeText(one.shape)}` });
      }
    });
  }
  return (
    <search class="search">
      <label><span>{say("find")}</span>
        <input type="search" value={text} onInput={event => setText(event.currentTarget.value)}
          onKeyDown={event => { event.stopPropagation(); if (event.key === "Enter" && found[0]) go(found[0]); if (event.key === "Escape") setText(""); }} />
      </label>
      {asked && <p role="status" class="soft">{found.length ? say("found", { count: found.length }) : say("found none")}</p>}
      {found.length > 0 && (
        <ul>{found.slice(0, MOST).map((one, i) => (
          <li key={i}><button type="button" onClick={() => go(one)}><bdi>{brief(one.title, 60)}</bdi>
            {one.view > 0 && <span class="soft"> {brief(data.views[one.view].title, 30)}</span>}</button></li>
        ))}</ul>
      )}
    </search>
  );
}
