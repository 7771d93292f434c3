// The graph: where things stand comes from Graphviz, what they show from the moment.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { brief, number } from "../model/numbers.js";
import { isScalar } from "../model/names.js";
import { isBackward } from "../model/moments.js";
import { Icon } from "../controls/Icon.jsx";
import { Arrow, Chip, Flow } from "./Arrow.jsx";
import { StepNode, ValueBox } from "./Node.jsx";
import { useZoom } from "./zoom.js";

export function Stage({ data, view, moment, index, state, words, selected, marks, changes, pointed, explained, act, still, duration, from, notice }) {
  const frame = useRef(), { say } = words;
  const { layout, steps, values } = data.views[view];
  const active = activeNodes(data, moment, selected);
  const seen = active.length || !steps.length ? active : nodesOf(data.steps[steps[0]]);
  const box = useMemo(() => around(layout, seen), [layout, seen.join()]);
  const { place, fit, scaleBy } = useZoom(frame, layout.width, layout.height, box, view);
  const nodes = useMemo(() => inOrder(data, view), [data, view]);
  const [focus, setFocus] = useState(null);
  const stop = nodes.includes(focus) ? focus : active.find(one => nodes.includes(one)) || nodes[0];
  const before = useRef(view);
  useEffect(() => {  // an opened view: the focus goes along, if it was in the graph
    if (before.current === view) return;
    before.current = view;
    const at = document.activeElement;
    if (!at || at === document.body || frame.current.contains(at)) {
      frame.current.querySelector(`[data-node="${stop}"]`)?.focus({ preventScroll: true, focusVisible: false });
    }
  }, [view]);
  const lit = litArrows(data, layout, moment);
  const play = data.kind === "steps";
  const direction = moment && (isBackward(moment) ? "backward" : "forward");
  const doing = useMemo(() => ({ ...act, moved: () => frame.current.dataset.moved === "yes" }), [act]);
  const kept = useKept(`${view}`);
  // values that are pointed at, or explain the one that is; others have the marks of changes only
  const touched = new Set(explained?.cells.map(cell => cell.value));
  if (pointed) touched.add(pointed.value);

  function key(event) {
    const to = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!event.target.dataset.node) return;
    if (to) {
      event.preventDefault();
      const next = nodes[(nodes.indexOf(stop) + to + nodes.length) % nodes.length];
      setFocus(next);
      frame.current.querySelector(`[data-node="${next}"]`).focus();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const id = Number(event.target.dataset.node.slice(1));
      act.choose(event.target.dataset.node[0] === "v" ? { value: id } : { step: id });
    }
  }

  const litNode = name => moment && active.includes(name) ? direction : "";
  return (
    <section class="stage" aria-label={say("graph")} onKeyDown={key}
      onFocusIn={event => event.target.dataset.node && setFocus(event.target.dataset.node)}>
      <svg ref={frame} role="group" aria-label={say("graph help", { count: nodes.length })}>
        <g key={view} class={from && !still ? "arriving" : ""}
          style={from && { transformOrigin: `${from.x}px ${from.y}px`, "--from": from.scale }}>
          <g class={place.smooth && !still ? "smooth" : ""}
            style={{ transform: `translate(${place.x}px,${place.y}px) scale(${place.scale})` }}>
            {layout.frames.map((one, i) => <Frame key={i} {...one} />)}
            {layout.edges.map((edge, i) => kept(`e${i}`, Arrow, {
              edge, lit: lit.has(i) ? direction : "", dashed: data.values[edge.value] && !data.values[edge.value].needs_grad,
            }))}
            {values.filter(id => layout.nodes[`v${id}`]).map(id => kept(`v${id}`, ValueBox, {
              value: data.values[id], box: layout.nodes[`v${id}`], words, data, play, act: doing,
              shown: !play || state.shown.has(id), sum: play ? state.sums.get(id) : null,
              marks: touched.has(id) ? marks : changes, lit: litNode(`v${id}`),
              selected: selected?.value === id, tab: stop === `v${id}` ? 0 : -1,
            }))}
            {steps.filter(id => layout.nodes[`s${id}`]).map(id => kept(`s${id}`, StepNode, {
              step: data.steps[id], box: layout.nodes[`s${id}`], words, data, act: doing, lit: litNode(`s${id}`),
              selected: selected?.step === id, tab: stop === `s${id}` ? 0 : -1,
            }))}
            {chips(data, layout, moment, lit)}
            {!still && [...lit].map(i => (
              <Flow key={`${index}.${i}`} edge={layout.edges[i]} kind={direction} duration={duration} nonce={index} />
            ))}
          </g>
        </g>
      </svg>
      <div class="below">
        {notice ? <p class="notice">{notice}</p> : (
          <p class="colours" role="group" aria-label={say("colours")}>
            {["value", "grad", ...play ? ["local"] : []].map(one => <span key={one} class={one}>{say(`colour ${one}`)}</span>)}
          </p>
        )}
        <div class="zoom">
          <button type="button" onClick={() => scaleBy(1.25)} aria-label={say("zoom in")} title={say("zoom in")}><Icon name="in" /></button>
          <button type="button" onClick={() => scaleBy(0.8)} aria-label={say("zoom out")} title={say("zoom out")}><Icon name="out" /></button>
          <button type="button" onClick={() => fit()} aria-label={say("fit")} title={say("fit")}><Icon name="fit" /></button>
        </div>
      </div>
    </section>
  );
}

// Elements of a view, made again only where what they show has changed: graphs have many
function useKept(view) {
  const kept = useRef(new Map()), of = useRef(view);
  if (of.current !== view) { of.current = view; kept.current.clear(); }
  return (key, Shown, given) => {
    const before = kept.current.get(key);
    if (before && Object.keys(given).every(name => Object.is(given[name], before.given[name]))) return before.element;
    const element = <Shown key={key} {...given} />;
    kept.current.set(key, { given, element });
    return element;
  };
}

function Frame({ title, kind, box: [x, y, width, height], level, times }) {
  const words = [brief(title, 40), kind !== title ? brief(kind, 30) : "", times > 1 ? `× ${times}` : ""];
  return (
    <g class={`frame level${Math.min(4, level)} ${kind === "reference" ? "reference" : ""}`}>
      <rect x={x} y={y} width={width} height={height} rx={8} />
      <text x={x + 10} y={y + 16}>{words.filter(Boolean).join("  ")}</text>
    </g>
  );
}

// values before the step that makes them, leaves before the first that reads them
function inOrder(data, view) {
  const { steps, values, layout } = data.views[view], found = [];
  const put = name => { if (layout.nodes[name] && !found.includes(name)) found.push(name); };
  for (const id of steps) {
    data.steps[id].inputs.forEach(value => value !== null && put(`v${value}`));
    put(`s${id}`);
    data.steps[id].outputs.forEach(value => put(`v${value}`));
  }
  values.forEach(value => put(`v${value}`));
  return found;
}

function activeNodes(data, moment, selected) {
  if (selected) return [selected.value !== undefined ? `v${selected.value}` : `s${selected.step}`];
  if (!moment || moment.phase === "start") return [];
  if (moment.phase === "seed") return [`v${moment.value}`];
  const outputs = data.steps[moment.step].outputs.map(id => `v${id}`);
  if (moment.phase === "forward" || moment.phase === "arrive") return [`s${moment.step}`, ...outputs];
  return moment.phase === "local" ? [`s${moment.step}`] : [`s${moment.step}`, `v${moment.value}`];
}

const nodesOf = step => [`s${step.id}`, ...[...step.inputs, ...step.outputs].filter(id => id !== null).map(id => `v${id}`)];

function around(layout, names) {
  const boxes = names.map(name => layout.nodes[name]).filter(Boolean);
  if (!boxes.length) return [0, 0, Math.min(400, layout.width), Math.min(300, layout.height)];
  const left = Math.min(...boxes.map(([x, , w]) => x - w / 2)), top = Math.min(...boxes.map(([, y, , h]) => y - h / 2));
  return [left, top, Math.max(...boxes.map(([x, , w]) => x + w / 2)) - left,
    Math.max(...boxes.map(([, y, , h]) => y + h / 2)) - top];
}

// numbers of the arrows along which something flows
function litArrows(data, layout, moment) {
  const found = new Set();
  if (!moment || moment.step === undefined) return found;
  const step = data.steps[moment.step], own = `s${moment.step}`;
  layout.edges.forEach((edge, i) => {
    const into = edge.to === own, from = edge.from === own;
    if (moment.phase === "forward" && (into || from)) found.add(i);
    if (moment.phase === "arrive" && from) found.add(i);
  });
  if (moment.phase === "local" || moment.phase === "term") {
    const all = layout.edges.flatMap((edge, i) => edge.to === own && edge.value === moment.value ? [i] : []);
    const nth = step.inputs.slice(0, moment.operand).filter(value => value === moment.value).length;
    if (all.length) found.add(all[Math.min(nth, all.length - 1)]);
  }
  return found;
}

function chips(data, layout, moment, lit) {
  if (!moment || !lit.size || !["arrive", "local", "term"].includes(moment.phase)) return null;
  const step = data.steps[moment.step], edge = layout.edges[[...lit][0]];
  const scalar = step.outputs.length === 1 && isScalar(data.values[step.outputs[0]]);
  if (moment.phase === "arrive") {
    return scalar && moment.gradient && <Chip edge={edge} nodes={layout.nodes} kind="grad" text={number(moment.gradient[0])} />;
  }
  if (!scalar || !isScalar(data.values[moment.value])) return null;
  const found = moment.phase === "local" ? step.local[moment.operand]?.data : step.terms[moment.operand];
  if (!found) return null;
  return <Chip edge={edge} nodes={layout.nodes} kind={moment.phase === "local" ? "local" : "grad"}
    text={(moment.phase === "local" ? "× " : "") + number(found[0])} />;
}
