// What happens at the moment: the sentence, and its numbers.

import { bracketed, brief, clean, number } from "../model/numbers.js";
import { isScalar, nameOf, titleOf, unknown } from "../model/names.js";
import { isBackward, termOf } from "../model/moments.js";
import { ruleOf, SIGNS, speaksOf } from "../model/rules.js";
import { told } from "../words/words.js";
import { sentence } from "../model/sentences.js";
import { Rule } from "./Formula.jsx";
import { Matrix } from "./Matrix.jsx";
import { Scroller } from "./Scroller.jsx";

export function Now({ data, list, index, words, state, act, marks }) {
  const { say } = words, moment = list[index];
  const phase = moment.phase === "start" ? "start" : isBackward(moment) ? "backward" : "forward";
  const Detail = { forward: Forward, seed: Seed, arrive: Arrive, local: Local, term: Term }[moment.phase];
  const step = moment.step === undefined ? null : data.steps[moment.step];
  return (
    <section class={`now ${phase}`}>
      <p class="kicker"><b>{say(`phase ${phase}`)}</b> {say("progress", { at: index, all: list.length - 1 })}</p>
      <p class="sentence"><bdi>{sentence(data, list, index, words)}</bdi></p>
      {moment.phase === "start" && data.about && <p class="lead"><bdi>{clean(told(data.about, words.language))}</bdi></p>}
      {Detail && <Detail {...{ data, list, index, moment, step, words, state, act, marks }} />}
    </section>
  );
}

const letter = (data, id, words) => <i><bdi>{nameOf(data, id, words, 24)}</bdi></i>;

// in a fraction: the op's own letter for what has no name
const short = (data, id, letter) => <i><bdi>{data.values[id].name ? brief(data.values[id].name, 16) : letter || "x"}</bdi></i>;

const of = (data, step) => [...step.outputs, ...step.inputs].filter(id => id !== null).map(id => data.values[id]);

function Equation({ children }) {
  return <p class="equation">{children}</p>;
}

function Forward({ data, step, words, act, marks }) {
  const [out, ...more] = step.outputs.map(id => data.values[id]);
  const inputs = step.inputs.filter(id => id !== null).map(id => data.values[id]);
  if (!out.data) return <p class="soft">{unknown([out], words)}</p>;
  const scalars = !more.length && isScalar(out) && inputs.every(one => isScalar(one) && one.data);
  const sign = SIGNS[step.op];
  if (scalars && sign && inputs.length === 2) {
    const [x, y] = inputs.map(one => one.data[0]);
    return (
      <Equation>
        <span>{number(x)}</span> {sign} <span>{bracketed(y)}</span> = <b>{number(out.data[0], 4, out.dtype)}</b>
      </Equation>
    );
  }
  if (scalars) {
    return (
      <Equation>
        {titleOf(step, "en")}({inputs.map(one => number(one.data[0], 4, one.dtype)).join(", ")}) = <b>{number(out.data[0], 4, out.dtype)}</b>
      </Equation>
    );
  }
  return (
    <div class="flowing">
      {[...new Set(inputs)].map(one => (
        <Matrix key={one.id} caption={letter(data, one.id, words)} name={nameOf(data, one.id, words)} numbers={one.data} shape={one.shape}
          dtype={one.dtype} at={{ value: one.id, of: "data" }} {...{ words, act, marks }} />
      ))}
      <span class="sign">{step.symbol?.length === 1 ? step.symbol : "→"}</span>
      {[out, ...more].map(one => (
        <Matrix key={one.id} kind="made" caption={letter(data, one.id, words)} name={nameOf(data, one.id, words)} numbers={one.data} shape={one.shape}
          dtype={one.dtype} at={{ value: one.id, of: "data", step: step.id }} {...{ words, act, marks }} />
      ))}
    </div>
  );
}

function Arrive({ data, moment, step, words, act, marks, state }) {
  const { say } = words, out = data.values[step.outputs[0]];
  if (step.outputs.length > 1) {
    return (
      <div class="flowing">
        {step.outputs.map(id => data.values[id]).filter(one => one.grad).map(one => (
          <Matrix key={one.id} kind="grad" caption={say("arrived title", { out: nameOf(data, one.id, words) })} name={nameOf(data, one.id, words)}
            numbers={one.grad} shape={one.shape} at={{ value: one.id, of: "grad" }} {...{ words, act, marks }} />
        ))}
      </div>
    );
  }
  if (!moment.gradient) return <p class="soft">{unknown(of(data, step), words)}</p>;
  const parts = state.sums.get(out.id)?.terms || [];
  if (isScalar(out)) {
    const sum = parts.length > 1 && parts.every(Boolean)
      ? `${parts.map(([x], i) => i ? bracketed(x) : number(x)).join(" + ")} = ` : "";
    return <Equation>g = {sum}<b class="grad">{number(moment.gradient[0])}</b></Equation>;
  }
  const name = nameOf(data, out.id, words);
  return <Matrix kind="grad" caption={say("arrived title", { out: name })} name={name} numbers={moment.gradient} shape={out.shape}
    at={{ value: out.id, of: "grad" }} {...{ words, act, marks }} />;
}

function Seed({ data, moment, words, act, marks }) {
  const { say } = words, value = data.values[moment.value], term = termOf(data, moment);
  if (!term) return null;
  if (isScalar(value)) return <Equation>g = <b class="grad">{number(term[0])}</b></Equation>;
  const name = nameOf(data, value.id, words);
  return <Matrix kind="grad" caption={say("arrived title", { out: name })} name={name} numbers={term} shape={value.shape}
    at={{ value: value.id, of: "seed" }} {...{ words, act, marks }} />;
}

function Local({ data, moment, step, words, act, marks }) {
  const { say } = words, local = step.local[moment.operand];
  const out = data.values[step.outputs[0]], operand = data.values[moment.value];
  const single = local && local.data.length === 1;
  return (
    <div>
      <Scroller class="rule wide" label={say("gradient rule")}><Rule op={data.ops[step.op]} name={step.names[moment.operand]} /></Scroller>
      <Legend {...{ data, step, words }} operand={moment.operand} />
      {single && (
        <Equation>
          <span class="fraction"><span>∂{short(data, out.id, "out")}</span><span>∂{short(data, operand.id, step.names[moment.operand])}</span></span>
          {" = "}<b class="local">{number(local.data[0])}</b>
        </Equation>
      )}
      {local && !single && <LocalTable {...{ data, local, out, operand, words, act, marks, step, moment }} />}
    </div>
  );
}

// what the letters of the rule shown stand for
function Legend({ data, step, words, operand }) {
  const rule = ruleOf(data.ops[step.op]?.gradient, step.names[operand]), { say } = words;
  const parts = [
    ...["g", "out"].filter(one => speaksOf(rule, one)).map(one => say(`${one} stands for`)),
    ...named(data, step, words, rule),
  ];
  return parts.length > 0 && <p class="soft">{parts.map((part, i) => <span key={i}>{i > 0 && (words.language === "zh" ? "，" : ", ")}{part}</span>)}</p>;
}

// "x: w, y: n" where the op calls its operands otherwise than the user does
function named(data, step, words, rule) {
  const colon = words.language === "zh" ? "：" : ": ";
  const pairs = step.inputs.flatMap((id, i) => id === null || !step.names[i] || !speaksOf(rule, step.names[i]) ? []
    : nameOf(data, id, words) === step.names[i] ? [] : [<>{clean(step.names[i])}{colon}{letter(data, id, words)}</>]);
  return pairs.length < 6 ? pairs : [];
}

function LocalTable({ data, local, out, operand, words, act, marks, step, moment }) {
  const { say } = words, diagonal = local.kind === "diagonal";
  const names = { out: nameOf(data, out.id, words), operand: nameOf(data, operand.id, words) };
  return (
    <div>
      <Matrix kind="local" caption={say("local title")} numbers={local.data}
        shape={diagonal ? out.shape : [local.rows, local.columns]}
        at={{ value: operand.id, of: "local", step: step.id, operand: moment.operand }} {...{ words, act, marks }} />
      {!diagonal && <p class="soft">{say("local rows", names)}</p>}
    </div>
  );
}

const MATRIX = 144;  // elements of a local derivative beside the two others

function Term({ data, list, index, moment, step, words, act, marks, state }) {
  const { say } = words, term = step.terms[moment.operand], local = step.local[moment.operand];
  const out = data.values[step.outputs[0]], operand = data.values[moment.value], g = moment.gradient;
  const name = nameOf(data, operand.id, words);
  const scalar = g && g.length === 1 && local?.data.length === 1 && term?.length === 1;
  const shown = g && local && (local.kind === "diagonal" || local.data.length <= MATRIX);
  const sums = state.sums.get(moment.value), several = moment.of > 1;
  return (
    <div>
      {!term && <p class="soft">{unknown(of(data, step), words)}</p>}
      {scalar && (
        <Equation>
          <span class="grad">{number(g[0])}</span> × <span class="local">{bracketed(local.data[0])}</span> = <b class="grad">{number(term[0])}</b>
        </Equation>
      )}
      {term && !scalar && (
        <>
          <Scroller class="rule wide" label={say("gradient rule")}><Rule op={data.ops[step.op]} name={step.names[moment.operand]} /></Scroller>
          <Legend {...{ data, step, words }} operand={moment.operand} />
          <div class="flowing">
            {g && <Matrix kind="grad" caption={say("arrived title", { out: nameOf(data, out.id, words) })} numbers={g} shape={out.shape}
              at={{ value: out.id, of: "grad" }} {...{ words, act, marks }} />}
            {shown && (
              <>
                <span class="sign">×</span>
                <Matrix kind="local" caption={say("local title")} numbers={local.data}
                  shape={local.kind === "diagonal" ? out.shape : [local.rows, local.columns]}
                  at={{ value: operand.id, of: "local", step: step.id, operand: moment.operand }} {...{ words, act, marks }} />
              </>
            )}
            <span class="sign">{shown ? "=" : "→"}</span>
            <Matrix kind="grad made" caption={say("term title", { operand: name })} name={name} numbers={term} shape={operand.shape}
              at={{ value: operand.id, of: "term", step: step.id, operand: moment.operand }} {...{ words, act, marks }} />
          </div>
          {shown && local.kind === "matrix" && <p class="soft">{say("times rows", { operand: name })}</p>}
          {local?.kind === "diagonal" && g && g.length !== term.length && <p class="soft">{say("summed", { operand: name })}</p>}
        </>
      )}
      {several && <Sum {...{ data, list, index, moment, sums, operand, name, words, act, marks }} />}
    </div>
  );
}

// the terms of a gradient, one by one, and what they add up to so far
function Sum({ data, list, index, moment, sums, operand, name, words, act, marks }) {
  const { say } = words;
  const terms = list.slice(0, index + 1).filter(one => one.nth && one.value === moment.value).map(one => termOf(data, one));
  const head = <p class="soft">{say("term of several", { nth: moment.nth, of: moment.of, operand: name })}</p>;
  if (terms.some(term => !term) || !sums?.sum) return head;
  if (isScalar(operand)) {
    return (
      <div class="sum">
        {head}
        <Equation>
          {terms.map(([x], i) => <span key={i} class={i === terms.length - 1 ? "grad joining" : "grad"}>{i ? ` + ${bracketed(x)}` : number(x)}</span>)}
          {terms.length > 1 && <> = <b class="grad">{number(sums.sum[0])}</b></>}
          {moment.nth < moment.of && <span class="soft"> + …</span>}
        </Equation>
      </div>
    );
  }
  return (
    <div class="sum">
      {head}
      {terms.length > 1 && (
        <Matrix kind="grad" caption={say("grad")} numbers={sums.sum} shape={operand.shape} name={name}
          at={{ value: operand.id, of: "sum" }} {...{ words, act, marks }} />
      )}
    </div>
  );
}
