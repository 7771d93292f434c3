// What stands in the graph: boxes of values, and ops.

import { useState } from "preact/hooks";
import { aligned, brief, clean, count, number, rows, shapeText } from "../model/numbers.js";
import { isScalar, nameOf, roleOf, titleOf } from "../model/names.js";
import { NumberInput } from "../panel/NumberInput.jsx";

const LARGEST = 16;
export const isTable = value => value.data !== null && count(value.shape) <= LARGEST;

const WIDE = 0.6;  // of a digit, in its size

// numbers in as many digits, and as large, as there is room for
function fitted(list, width, size, dtype) {
  let texts;
  for (const [digits, small] of [[4, size], [4, 12], [4, 11], [3, 11], [2, 11]]) {
    texts = aligned(list, digits, dtype);
    const own = Math.min(size, small);
    if (Math.max(...texts.map(text => text.length)) * own * WIDE <= width) return [texts, own];
  }
  return [texts, Math.min(size, 11)];
}

export function ValueBox({ value, box, words, data, shown, sum, marks, lit, selected, play, tab, act }) {
  const [x, y, width, height] = box, { say } = words;
  const [editing, setEditing] = useState(null);
  const small = isTable(value), lines = small ? rows(value.shape, value.data.length) : [];
  const withGrad = value.needs_grad && small;
  const own = value.name || value.called || (value.output ? roleOf(value, say) : "");
  const shape = value.shape.length ? shapeText(value.shape) : "";
  const bare = value.role === "constant" || !(own || shape);
  const head = bare ? 2 : 20, line = (height - head - (bare ? 2 : 8)) / Math.max(1, lines.length * (withGrad ? 2 : 1));
  const grad = play ? sum?.sum : value.grad;
  const most = Math.max(3, Math.floor((width - 10) / 7.5));
  const title = bare ? "" : own ? brief(own, most) : shape;
  const room = title && own && (title.length + shape.length + 2) * 7 < width ? shape : "";
  const kind = value.output ? "output" : value.role;
  const column = i => -width / 2 + 7 + (width - 14) * (i + 0.5) / Math.max(1, lines[0]?.length || 1);
  const size = Math.min(14, line * 0.86);

  function numbers(list, of, top) {
    const wide = (width - 14) / Math.max(1, lines[0].length) - 4;
    const [texts, own] = list ? fitted(list, wide, size, of === "data" ? value.dtype : "") : [null, size];
    return lines.map((line_, r) => line_.map((i, c) => {
      const text = texts ? texts[i] : "\u00b7";
      const at = { value: value.id, of, index: i };
      const may = of === "data" && act.editable(value.id);
      const fit = text.length * own * WIDE > wide + 4 ? { textLength: wide + 4, lengthAdjust: "spacingAndGlyphs" } : {};
      return (
        <text key={`${of}${i}`} x={column(c)} y={top + (r + 0.5) * line} font-size={own} {...fit}
          class={`number ${of} ${may ? "editable" : ""} ${marks(at)}`}
          onPointerMove={() => texts && act.point(at)}
          onPointerLeave={event => event.pointerType !== "touch" && act.point(null)}
          onClick={event => {
            if (act.moved() || !(may || event.pointerType === "touch")) return;
            event.stopPropagation();  // a finger points by pressing
            if (may) setEditing(i); else if (texts) act.point(at);
          }}>
          {text}
        </text>
      );
    }));
  }

  const top = -height / 2;
  const spoken = isScalar(value) && value.data
    ? say("node value scalar", { name: nameOf(data, value.id, words), role: roleOf(value, say),
      number: shown ? number(value.data[0], 4, value.dtype) : say("not yet") })
    : say("node value", { name: nameOf(data, value.id, words), role: roleOf(value, say), shape });
  const flags = value.flags.map(flag => say(`flag ${flag}`)).join(", ");
  const heard = [spoken, isScalar(value) && grad && say("node grad", { number: number(grad[0]) }), flags]
    .filter(Boolean).join(", ");
  return (
    <g class={`node value ${kind} ${lit ? `lit-${lit}` : ""} ${selected ? "selected" : ""} ${value.flags.length ? "flagged" : ""}`}
      transform={`translate(${x},${y})`} role="button" tabindex={tab} aria-label={heard}
      data-node={`v${value.id}`} onClick={() => act.moved() || act.choose({ value: value.id })}>
      <title>{clean(`${nameOf(data, value.id, words, 400)} ${shape} ${value.dtype}`)}</title>
      <rect class="box" x={-width / 2} y={top} width={width} height={height} rx={7} />
      {title && <text class={own && value.name ? "name" : "name called"} y={top + 15}
        x={room ? -width / 2 + 8 : 0} text-anchor={room ? "start" : "middle"}>{title}</text>}
      {room && <text class="shape" x={width / 2 - 8} y={top + 15} text-anchor="end">{room}</text>}
      {small && numbers(shown ? value.data : null, "data", top + head)}
      {withGrad && <path class="between" d={`M${-width / 2 + 8},${top + head + line * lines.length}h${width - 16}`} />}
      {withGrad && numbers(grad, "grad", top + head + line * lines.length + 1)}
      {!small && <Large value={value} top={top} height={height} width={width} shape={own && !room ? shape : ""}
        shown={shown} sum={sum} play={play} flags={flags} />}
      {editing !== null && (
        <foreignObject x={column(lines.findIndex(one => one.includes(editing)) >= 0
          ? lines.find(one => one.includes(editing)).indexOf(editing) : 0) - 46}
        y={top + head + lines.findIndex(one => one.includes(editing)) * line - 4} width={190} height={110}>
          <NumberInput value={value.data[editing]} words={words}
            label={say("new number", { name: nameOf(data, value.id, words), at: "" })}
            done={next => { setEditing(null); if (next !== null) act.edit(value.id, editing, next); }} />
        </foreignObject>
      )}
    </g>
  );
}

// a tensor whose numbers have no room: its shape, and what is known of it
function Large({ value, top, height, width, shape, shown, sum, play, flags }) {
  const lines = [];
  if (shape) lines.push(["shape", shape]);
  const { stats, grad_stats: back } = value;
  if (stats) lines.push(["number", `${number(stats.mean, 3)} \u00b1 ${number(stats.std, 3)}`]);
  if (back && !play) lines.push(["number grad", `${number(back.mean, 3)} \u00b1 ${number(back.std, 3)}`]);
  if (play) {
    const marks = `${shown ? "\u2713" : "\u00b7"}${sum ? (sum.complete ? " \u2207\u2713" : " \u2207\u2026") : ""}`;
    lines.push([sum ? "number grad" : "number", marks]);
  }
  if (flags) lines.push(["flag", flags]);
  const room = Math.max(1, Math.floor((height - 20) / 14)), kept = lines.length > room
    ? [...lines.filter(([kind]) => kind === "flag"), ...lines.filter(([kind]) => kind !== "flag")].slice(0, room)
    : lines;
  return kept.map(([kind, text], i) => (
    <text key={kind} class={kind} x={0} y={top + 20 + (i + 0.5) * (height - 24) / kept.length} font-size={12}
      {...(text.length * 12 * WIDE > width - 8 ? { textLength: width - 10, lengthAdjust: "spacingAndGlyphs" } : {})}
      text-anchor="middle">{text}</text>
  ));
}

export function StepNode({ step, box, words, data, lit, selected, tab, act }) {
  const [x, y, width, height] = box, { say, language } = words;
  const title = titleOf(step, language), symbol = brief(step.symbol || step.op, 40);
  const module = step.opens !== null && data.views[step.opens]?.kind === "module";
  const heard = [module ? say("node module", { name: symbol }) : say("node step", { name: title }), clean(step.settings), clean(step.note),
    step.times > 1 && say("times", { count: step.times }), step.opens !== null && say("node opens")];
  const texts = [step.times > 1 ? `${symbol} × ${step.times}` : symbol,
    ...[step.settings, step.note].filter(Boolean).map(text => brief(text, Math.max(6, Math.floor(width / 5.6))))];
  const shape = { class: "box", x: -width / 2, y: -height / 2, width, height };
  return (
    <g class={`node step ${module ? "module" : ""} ${lit ? `lit-${lit}` : ""} ${selected ? "selected" : ""}`}
      transform={`translate(${x},${y})`} role="button" tabindex={tab} aria-label={heard.filter(Boolean).join(", ")}
      data-node={`s${step.id}`} onClick={() => act.moved() || act.choose({ step: step.id })}
      onDblClick={() => step.opens !== null && act.open(step.id)}>
      <title>{clean([title, step.settings, step.note].filter(Boolean).join(" "))}</title>
      <rect {...shape} rx={module ? 10 : height / 2} />
      {step.opens !== null && <rect {...shape} class="rim" x={-width / 2 + 3} y={-height / 2 + 3}
        width={width - 6} height={height - 6} rx={module ? 8 : height / 2 - 3} />}
      {texts.map((text, i) => {
        const sign = i === 0 && symbol.length === 1 && !module, size = i ? 10.5 : sign ? 20 : 14;
        const wide = text.length * size * 0.58, most = width - 14;
        return <text key={i} class={i ? "small" : "name"} font-size={size}
          {...(wide > most && !sign ? { textLength: most, lengthAdjust: "spacingAndGlyphs" } : {})}
          y={(i - (texts.length - 1) / 2) * 15}>{text}</text>;
      })}
      {step.opens !== null && (
        <g class="opener" transform={`translate(${width / 2 - 2},${-height / 2 + 2})`}
          onClick={event => { event.stopPropagation(); act.moved() || act.open(step.id); }}>
          <circle r={9} /><path d="M-4,0h8M0,-4v8" />
        </g>
      )}
    </g>
  );
}
