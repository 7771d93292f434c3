// Everything beside the graph.

import { About, Source } from "./About.jsx";
import { Flagged } from "./Flagged.jsx";
import { MadeOf } from "./MadeOf.jsx";
import { Now } from "./Now.jsx";
import { ValueCard } from "./ValueCard.jsx";
import { WhatIf } from "./WhatIf.jsx";

export function Panel(props) {
  const { data, moment, words, selected, explained, state, play, act, marks } = props;
  const step = selected?.step ?? (selected ? undefined : moment?.step);
  const { say } = words;
  return (
    <aside class="panel" aria-label={say("panel")}>
      {play && <Now {...props} />}
      {selected?.value !== undefined && <ValueCard {...{ data, words, act, marks, state, play }} id={selected.value} />}
      {!play && !selected && <Flagged data={data} words={words} go={act.goTo} />}
      {play && <MadeOf found={explained} words={words} />}
      {play && <WhatIf {...props} />}
      {step !== undefined && <Source data={data} line={data.steps[step].line} words={words} />}
      {step !== undefined && <About key={step} data={data} step={data.steps[step]} words={words} act={act} />}
    </aside>
  );
}
