// An arrow, what is written on it, and what flows along it.

import { useEffect, useRef } from "preact/hooks";
import { brief } from "../model/numbers.js";
import { pointAt, tip } from "./paths.js";

export function Arrow({ edge, lit, dashed }) {
  const middle = edge.at || (edge.label && pointAt(edge.path, 0.5));
  return (
    <g class={`arrow ${lit ? `lit-${lit}` : ""}`}>
      <path class="line" d={edge.path} stroke-dasharray={dashed ? "4 4" : null} />
      <path class="tip" d={tip(edge.path, edge.head)} />
      {edge.label && <text class="word" x={middle[0]} y={middle[1] + 4}>{brief(edge.label, 24)}</text>}
    </g>
  );
}

// beside the middle of the arrow: above both ends of one that runs across, right of one that runs down
function beside(edge, nodes, wide) {
  const [x, y] = pointAt(edge.path, 0.5), a = nodes[edge.from], b = nodes[edge.to];
  if (!a || !b || Math.abs(a[1] - b[1]) > Math.abs(a[0] - b[0])) return [x + wide / 2 + 8, y];
  const clear = b[0] - b[2] / 2 - wide / 2 + 4;  // of the op that the arrow goes into
  return [edge.to[0] === "s" ? Math.min(x, clear) : x, Math.min(y - 20, Math.max(a[1] - a[3] / 2, b[1] - b[3] / 2) - 18)];
}

// the numbers on an arrow: a local derivative, or the product that flows back
export function Chip({ edge, nodes, text, kind }) {
  const wide = 14 + 8.6 * text.length, [x, y] = beside(edge, nodes, wide);
  return (
    <g class={`chip ${kind}`} transform={`translate(${x},${y})`}>
      <rect x={-wide / 2} y={-13} width={wide} height={26} rx={13} />
      <text y={5}>{text}</text>
    </g>
  );
}

// a dot that runs along the arrow once, backwards for gradients
export function Flow({ edge, kind, duration, nonce }) {
  const dot = useRef();
  useEffect(() => {
    let frame;
    const start = performance.now();
    const run = time => {
      if (!dot.current) return;
      const share = Math.min(1, Math.max(0, (time - start) / duration));
      const eased = share * share * (3 - 2 * share);
      const [x, y] = pointAt(edge.path, kind === "backward" ? 1 - eased : eased);
      dot.current.setAttribute("transform", `translate(${x},${y})`);
      dot.current.setAttribute("opacity", share === 1 ? 0 : 1);
      if (share < 1) frame = requestAnimationFrame(run);
    };
    run(start);
    return () => cancelAnimationFrame(frame);
  }, [edge, kind, nonce]);
  return <circle ref={dot} class={`flow ${kind}`} r={6} />;
}
