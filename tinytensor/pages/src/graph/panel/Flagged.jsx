// Tensors that are conspicuous, when nothing is chosen.

import { nameOf } from "../model/names.js";
import { shapeText } from "../model/numbers.js";

const MOST = 30;

export function Flagged({ data, words, go }) {
  const { say } = words, found = [], seen = new Set();
  data.views.forEach((view, at) => view.values.forEach(id => {
    if (!data.values[id].flags.length || seen.has(id)) return;
    seen.add(id);
    found.push({ view: at, value: id });
  }));
  return (
    <section>
      <p class="soft">{say("choose")}</p>
      {found.length > 0 && (
        <>
          <h2>{say("flagged")}</h2>
          <ul class="flagged">
            {found.slice(0, MOST).map(one => {
              const value = data.values[one.value];
              return (
                <li key={one.value}><button type="button" onClick={() => go(one)}>
                  <bdi>{nameOf(data, one.value, words)}</bdi> <span class="soft">{shapeText(value.shape)}</span>{" "}
                  <b class="flag">{value.flags.map(flag => say(`flag ${flag}`)).join(", ")}</b>
                </button></li>
              );
            })}
          </ul>
          {found.length > MOST && <p class="soft">{say("more rows", { count: found.length - MOST })}</p>}
        </>
      )}
    </section>
  );
}
