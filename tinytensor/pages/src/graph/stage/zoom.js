// Moving and scaling the graph: wheel, drag, two fingers, and from the outside.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const LEAST = 0.15, MOST = 4, GAP = 20;
const limited = scale => Math.min(MOST, Math.max(LEAST, scale));

// size of the graph, box [left, top, width, height] to keep in sight
export function useZoom(frame, width, height, box, key) {
  const [place, setPlace] = useState({ scale: 1, x: 0, y: 0, smooth: false });
  const own = useRef(false);  // has the reader chosen a scale?
  const now = useRef(place);
  now.current = place;

  const sized = () => frame.current.getBoundingClientRect();

  const show = useCallback((scale, [left, top, wide, high], smooth) => {
    const room = sized();
    const along = (size, all, from, part) => all * scale + 2 * GAP <= size
      ? (size - all * scale) / 2
      : Math.min(GAP, Math.max(size - all * scale - GAP, size / 2 - (from + part / 2) * scale));
    // at once for the effects that run before the next render
    now.current = { scale, smooth, x: along(room.width, width, left, wide), y: along(room.height, height, top, high) };
    setPlace(now.current);
  }, [width, height]);

  const whole = () => {
    const room = sized();
    return Math.min(1.9, (room.width - 2 * GAP) / width, (room.height - 2 * GAP) / height);
  };
  const fit = useCallback((smooth = true) => {
    own.current = false;
    show(limited(whole()), [0, 0, width, height], smooth);
  }, [show]);
  // at first all of it where it can be read; else what happens, at a scale that can be
  const start = useCallback(smooth => {
    const room = sized(), all = whole(), readable = room.width < 600 ? 0.6 : 0.8;
    if (all >= readable) return show(limited(all), [0, 0, width, height], smooth);
    const part = Math.min((room.width - 2 * GAP) / box[2], (room.height - 2 * GAP) / box[3]);
    return show(limited(Math.max(readable, Math.min(readable + 0.1, part))), box, smooth);
  }, [show, box]);

  const begin = useRef();
  begin.current = start;

  useLayoutEffect(() => { own.current = false; start(false); }, [key, width, height]);
  useEffect(() => {
    let before = sized();
    const watch = new ResizeObserver(() => {
      const room = sized(), same = room.width === before.width && room.height === before.height;
      before = room;
      if (!same && !own.current) begin.current(false);
    });
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {  // follow what happens
    const room = sized(), { scale, x, y } = now.current, [left, top, wide, high] = box;
    const inside = x + left * scale >= 0 && y + top * scale >= 0
      && x + (left + wide) * scale <= room.width && y + (top + high) * scale <= room.height;
    if (!inside) show(scale, box, true);
  }, [box.join()]);

  const scaleBy = useCallback((factor, at) => {
    own.current = true;
    const room = sized(), [px, py] = at || [room.width / 2, room.height / 2];
    setPlace(({ scale, x, y }) => {
      const to = limited(scale * factor), by = to / scale;
      return { scale: to, x: px - (px - x) * by, y: py - (py - y) * by, smooth: !at };
    });
  }, []);

  useEffect(() => {
    const element = frame.current, fingers = new Map();
    const at = event => {
      const room = sized();
      return [event.clientX - room.left, event.clientY - room.top];
    };
    const wheel = event => {
      event.preventDefault();
      scaleBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015) * (event.ctrlKey ? 4 : 1)), at(event));
    };
    const down = event => {
      if (event.pointerType === "mouse" && event.button) return;
      fingers.set(event.pointerId, at(event));
      element.dataset.moved = "";
    };
    const move = event => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const after = at(event);
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const apart = ([a, b]) => Math.hypot(a - other[0], b - other[1]);
        scaleBy(apart(after) / Math.max(1, apart(before)),
          [(after[0] + other[0]) / 2, (after[1] + other[1]) / 2]);
        element.dataset.moved = "yes";
      } else {
        const [dx, dy] = [after[0] - before[0], after[1] - before[1]];
        if (!element.dataset.moved && Math.hypot(dx, dy) < 5) return;
        if (!element.dataset.moved) element.setPointerCapture(event.pointerId);
        element.dataset.moved = "yes";
        own.current = true;
        setPlace(({ scale, x, y }) => ({ scale, x: x + dx, y: y + dy, smooth: false }));
      }
      fingers.set(event.pointerId, after);
    };
    const up = event => fingers.delete(event.pointerId);
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) element.addEventListener(end, up);
    return () => {
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      for (const end of ["pointerup", "pointercancel", "pointerleave"]) element.removeEventListener(end, up);
    };
  }, [scaleBy]);

  return { place, fit, scaleBy };
}
