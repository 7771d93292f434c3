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

// the numbers on an arrow: a local derivative, or the product that flows back
export function Chip({ edge, text, kind }) {
  const [x, y] = pointAt(edge.path, 0.5), wide = 12 + 7.6 * text.length;
  return (
    <g class={`chip ${kind}`} transform={`translate(${x},${y - 14})`}>
      <rect x={-wide / 2} y={-12} width={wide} height={22} rx={11} />
      <text y={4}>{text}</text>
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
