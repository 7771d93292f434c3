// What made the number that one points at.

import { clean, position } from "../model/numbers.js";
import { nameOf } from "../model/names.js";

export function MadeOf({ data, found, pointed, words }) {
  const { say } = words;
  return (
    <section class={`madeof ${found ? "" : "empty"}`}>
      <h2>{say("made of")}</h2>
      {found ? (
        <>
          <p class="formula"><bdi>{clean(found.formula)}</bdi></p>
          <p class="with"><bdi>{nameOf(data, pointed.value, words)}</bdi>{position(data.values[pointed.value].shape, pointed.index)}
            {" = "}{clean(found.numbers).replace(/(^|[^\w.])-(?=\d)/g, "$1\u2212")}</p>
        </>
      ) : <p class="soft">{say("point")}</p>}
    </section>
  );
}
