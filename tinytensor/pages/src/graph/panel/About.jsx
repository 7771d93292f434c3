// The op of the moment, and the user's line that made it.

import { brief, clean } from "../model/numbers.js";
import { titleOf } from "../model/names.js";
import { Formula } from "./Formula.jsx";
import { Scroller } from "./Scroller.jsx";

export function About({ data, step, words, act }) {
  const { say, language } = words, op = data.ops[step.op];
  const name = titleOf(step, language);
  return (
    <section class="about">
      <h2><code>{clean(step.op)}</code>{step.settings && <span class="soft"> {clean(step.settings)}</span>}
        {step.times > 1 && <span class="soft"> × {step.times}</span>}</h2>
      {step.note && <p class="soft">{clean(step.note)}</p>}
      {step.opens !== null && (
        <button type="button" class="open" onClick={() => act.open(step.id)}>{say("open", { name: op ? name : brief(step.symbol || step.op) })}</button>
      )}
      {op && (
        <>
          <Doc text={op.doc} say={say} />
          <dl>
            {op.formula && <><dt>{say("forward rule")}</dt><dd><Scroller class="wide" label={say("forward rule")}><Formula mathml={op.mathml?.formula} text={op.formula} /></Scroller></dd></>}
            <dt>{say("gradient rule")}</dt>
            <dd><Scroller class="wide" label={say("gradient rule")}>{op.gradient ? <Formula mathml={op.mathml?.gradient} text={op.gradient} /> : say("no gradient")}</Scroller></dd>
          </dl>
          {[["code vjp", op.vjp], ["code forward", op.forward], ["code reference", op.reference]].map(([key, code]) => code && (
            <details key={key}><summary>{say(key)}</summary><Scroller as="pre" label={say(key)}>{code}</Scroller></details>
          ))}
        </>
      )}
    </section>
  );
}

// the first paragraph of a docstring, and the others on demand; what stands in backticks is code
function Doc({ text, say }) {
  const parts = (text || "").split(/\n\s*\n/).map(part => part.replace(/\s*\n\s*/g, " ").trim()).filter(Boolean);
  const shown = part => clean(part).split(/``(.+?)``/).map((piece, i) => i % 2 ? <code key={i}>{piece}</code> : piece);
  if (!parts.length) return null;
  return (
    <div class="doc">
      <p>{shown(parts[0])}</p>
      {parts.length > 1 && <details><summary>{say("more")}</summary>{parts.slice(1).map((part, i) => <p key={i}>{shown(part)}</p>)}</details>}
    </div>
  );
}

const AROUND = 4;

// a line before, in and after the piece that made the op
function pieces(text, at, lit, end, { column, end_column: stop }) {
  if (at < lit || at > end || column === undefined || column === null) return [text || " "];
  const from = at === lit ? column : text.length - text.trimStart().length;
  const to = at === end && stop ? stop : text.length;
  return [text.slice(0, from), text.slice(from, to), text.slice(to)];
}

export function Source({ data, line, words }) {
  const { say } = words, source = line && data.sources[line.source];
  if (!source) return null;
  const lit = line.number - source.first, end = Math.min(lit + AROUND, (line.end ?? line.number) - source.first);
  const from = Math.max(0, lit - AROUND), to = Math.min(source.lines.length, end + AROUND + 1);
  return (
    <section class="source">
      <h2>{say("source")} <span class="soft"><bdi>{clean(source.file)}</bdi>, {say("line", { number: line.number })}</span></h2>
      <Scroller class="lines" label={say("source")}>
        {source.lines.slice(from, to).map((text, i) => (
          <div key={from + i} class={from + i >= lit && from + i <= end ? "lit" : ""} aria-current={from + i === lit ? "true" : undefined}>
            <span class="count" aria-hidden="true">{source.first + from + i}</span>
            <code>{pieces(text, from + i, lit, end, line).map((piece, n) => n === 1 ? <mark key={n}>{clean(piece)}</mark> : clean(piece))}</code>
          </div>
        ))}
      </Scroller>
    </section>
  );
}
