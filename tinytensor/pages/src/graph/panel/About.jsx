// The op of the moment, and the user's line that made it.

import { clean, shapeText } from "../model/numbers.js";
import { titleOf } from "../model/names.js";
import { Formula } from "./Formula.jsx";

export function About({ data, step, words, act }) {
  const { say, language } = words, op = data.ops[step.op];
  const name = titleOf(step, language);
  return (
    <section class="about">
      <h2><code>{clean(step.op)}</code>{step.settings && <span class="soft"> {clean(step.settings)}</span>}
        {step.times > 1 && <span class="soft"> × {step.times}</span>}</h2>
      {step.note && <p class="soft">{clean(step.note)}</p>}
      {step.opens !== null && (
        <button type="button" class="open" onClick={() => act.open(step.id)}>{say("open", { name })}</button>
      )}
      {op && (
        <>
          {op.doc && <p class="doc">{clean(op.doc)}</p>}
          <dl>
            {op.formula && <><dt>{say("forward rule")}</dt><dd><Formula mathml={op.mathml?.formula} text={op.formula} /></dd></>}
            <dt>{say("gradient rule")}</dt>
            <dd>{op.gradient ? <Formula mathml={op.mathml?.gradient} text={op.gradient} /> : say("no gradient")}</dd>
          </dl>
          {[["code vjp", op.vjp], ["code forward", op.forward], ["code reference", op.reference]].map(([key, code]) => code && (
            <details key={key}><summary>{say(key)}</summary><pre tabIndex={0}>{code}</pre></details>
          ))}
        </>
      )}
    </section>
  );
}

const AROUND = 4;

export function Source({ data, line, words }) {
  const { say } = words, source = line && data.sources[line.source];
  if (!source) return null;
  const lit = line.number - source.first;
  const from = Math.max(0, lit - AROUND), to = Math.min(source.lines.length, lit + AROUND + 1);
  return (
    <section class="source">
      <h2>{say("source")} <span class="soft"><bdi>{clean(source.file)}</bdi>, {say("line", { number: line.number })}</span></h2>
      <div class="lines" tabIndex={0} role="group" aria-label={say("source")}>
        {source.lines.slice(from, to).map((text, i) => (
          <div key={from + i} class={from + i === lit ? "lit" : ""} aria-current={from + i === lit ? "true" : undefined}>
            <span class="count" aria-hidden="true">{source.first + from + i}</span><code>{clean(text) || " "}</code>
          </div>
        ))}
      </div>
    </section>
  );
}
