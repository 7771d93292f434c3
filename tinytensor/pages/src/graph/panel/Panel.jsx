// Everything beside the graph.

import { About, Source } from "./About.jsx";
import { MadeOf } from "./MadeOf.jsx";
import { Now } from "./Now.jsx";
import { ValueCard } from "./ValueCard.jsx";
import { WhatIf } from "./WhatIf.jsx";

export function Panel(props) {
  const { data, moment, words, selected, pointed, explained, state, play, act, marks } = props;
  const step = selected?.step ?? (selected ? undefined : moment?.step);
  const { say } = words;
  return (
    <aside class="panel" aria-label={say("panel")}>
      {play && <Now {...props} />}
      {selected?.value !== undefined && <ValueCard {...{ data, words, act, marks, state, play }} id={selected.value} />}
      {!play && !selected && <p class="soft">{say("choose")}</p>}
      {play && <MadeOf {...{ data, found: explained, pointed, words }} />}
      {step !== undefined && <Source data={data} line={data.steps[step].line} words={words} />}
      {step !== undefined && <About key={step} data={data} step={data.steps[step]} words={words} act={act} />}
      {play && <WhatIf {...props} />}
    </aside>
  );
}
