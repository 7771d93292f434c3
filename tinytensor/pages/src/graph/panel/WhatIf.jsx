// Inputs that can be changed, and gradients beside finite differences.

import { useState } from "preact/hooks";
import { count, number, position, shapeText } from "../model/numbers.js";
import { nameOf } from "../model/names.js";
import { Matrix } from "./Matrix.jsx";
import { Scroller } from "./Scroller.jsx";

const LARGEST = 64;

export function WhatIf({ data, edited, words, act, marks, trouble, compare }) {
  const { say } = words, [found, setFound] = useState(null);
  const leaves = data.views[0].values.filter(id => act.editable(id) && count(data.values[id].shape) <= LARGEST);
  if (!leaves.length && !trouble) return null;
  const name = id => nameOf(data, id, words);
  const shown = found && found.of === data ? found.rows : null;  // of other numbers: gone
  return (
    <section class="whatif">
      <h2>{say("inputs")}</h2>
      {!trouble && <p class="soft">{say("inputs text")}</p>}
      {trouble && <p class="trouble" >{trouble}</p>}
      <div class="leaves">
        {leaves.map(id => {
          const value = data.values[id];
          return <Matrix key={id} caption={<bdi>{name(id)}</bdi>} name={name(id)} numbers={value.data} shape={value.shape} dtype={value.dtype}
            at={{ value: id, of: "data" }} edit={(i, x) => act.edit(id, i, x)} {...{ words, act, marks }} />;
        })}
      </div>
      <p class="row">
        {edited && <button type="button" onClick={act.reset}>{say("reset")}</button>}
        {data.backward.length > 0 && !trouble && (
          <button type="button" onClick={() => setFound({ of: data, rows: compare() })}>{say("compare")}</button>
        )}
      </p>
      {shown && !shown.length && <p class="soft">{say("not known")}</p>}
      {shown && shown.length > 0 && (
        <>
          <p class="soft">{say("compare text")}</p>
          <Scroller class="scroll" label={say("compare")}>
            <table class="compare">
              <thead><tr>{["name", "ours", "finite", "apart"].map(key => <th key={key} scope="col">{say(`compare ${key}`)}</th>)}</tr></thead>
              <tbody>
                {shown.map(({ id, index, ours, finite }) => (
                  <tr key={`${id}.${index}`}>
                    <th scope="row"><bdi>{name(id)}</bdi>{position(data.values[id].shape, index)}</th>
                    <td class="grad">{number(ours, 6)}</td><td>{number(finite, 6)}</td><td>{number(Math.abs(ours - finite), 2)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroller>
        </>
      )}
    </section>
  );
}
