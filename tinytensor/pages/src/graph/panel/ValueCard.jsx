// One value that was chosen: its numbers, its gradient, its statistics.

import { clean, number, shapeText } from "../model/numbers.js";
import { nameOf, roleOf, unknown } from "../model/names.js";
import { Matrix } from "./Matrix.jsx";

export function ValueCard({ data, id, words, act, marks, state, play }) {
  const { say } = words, value = data.values[id], name = nameOf(data, id, words);
  const grad = play ? state.sums.get(id)?.sum : value.grad;
  const shown = !play || state.shown.has(id);
  return (
    <section class="value">
      <h2><bdi>{name}</bdi> <span class="soft">{roleOf(value, say)}, {value.shape.length ? shapeText(value.shape) : say("scalar")} {clean(value.dtype)}</span></h2>
      {value.flags.map((flag, i) => (
        <p key={flag} class="flag"><b>{say(`flag ${flag}`)}</b> {say(`flag text ${flag}`)} {value.said?.[i] && <span class="soft">({clean(value.said[i])})</span>}</p>
      ))}
      {value.data && shown && <Matrix caption={say("data")} name={name} numbers={value.data} shape={value.shape} dtype={value.dtype}
        at={{ value: id, of: "data" }} edit={act.editable(id) ? (i, x) => act.edit(id, i, x) : null} {...{ words, act, marks }} />}
      {play && shown && !value.data && <p class="soft">{unknown([value], words)}</p>}
      {!shown && <p class="soft">{say("not yet")}</p>}
      {value.needs_grad && grad && <Matrix kind="grad" caption={say("grad")} name={name} numbers={grad} shape={value.shape}
        at={{ value: id, of: "grad" }} {...{ words, act, marks }} />}
      {play && !value.needs_grad && <p class="soft">{say("no grad needed")}</p>}
      <Stats value={value} say={say} />
    </section>
  );
}

const KEYS = ["mean", "std", "min", "max", "zero", "bad"];

function Stats({ value: { stats, grad_stats: back }, say }) {
  if (!stats && !back) return null;
  const columns = [["data", stats], ["grad", back]].filter(([, one]) => one);
  const shown = (key, x) => key === "zero" ? `${number(100 * x, 3)} %` : number(x);
  return (
    <table class="stats">
      <caption>{say("stats")}</caption>
      <thead><tr><td />{columns.map(([key]) => <th key={key} scope="col">{say(key)}</th>)}</tr></thead>
      <tbody>
        {KEYS.filter(key => columns.some(([, one]) => key in one)).map(key => (
          <tr key={key}><th scope="row">{say(key)}</th>
            {columns.map(([of, one]) => <td key={of} class={of}>{key in one ? shown(key, one[key]) : ""}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}
