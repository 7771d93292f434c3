// What made the number that one points at.

import { clean } from "../model/numbers.js";

export function MadeOf({ found, words }) {
  const { say } = words;
  return (
    <section class={`madeof ${found ? "" : "empty"}`} aria-live="polite">
      <h2>{say("made of")}</h2>
      {found ? (
        <>
          <p class="formula"><bdi>{clean(found.formula)}</bdi></p>
          <p class="with"><bdi>{clean(found.numbers).replace(/(^|[^\w.])-(?=\d)/g, "$1\u2212")}</bdi></p>
        </>
      ) : <p class="soft">{say("point")}</p>}
    </section>
  );
}
