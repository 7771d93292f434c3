// The keys of the page, wherever the focus is but in a field.

import { useLayoutEffect, useRef } from "preact/hooks";

export function useKeys(now) {
  const latest = useRef(now);
  latest.current = now;
  useLayoutEffect(() => {
    const press = event => {
      const { go, act, play, still } = latest.current, { target, key } = event;
      if (still || event.ctrlKey || event.metaKey || event.altKey) return;
      const own = target.closest?.("input, select, textarea, summary, button");
      if (own && own.matches("input, textarea") && own.type !== "range") return;
      if (own && own.matches("input, select") && /^(Arrow|Home|End|Page)/.test(key)) return;
      if (own && (key === " " || key === "Enter")) return;
      const action = {
        o: act.openNow, Escape: act.out, "?": act.help,
        ...(play && {
          ArrowRight: go.next, ArrowLeft: go.back, " ": go.toggle, Home: () => go.to(0), End: go.last,
          b: go.turn, "+": () => go.faster(1), "=": () => go.faster(1), "-": () => go.faster(-1),
        }),
      }[key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
