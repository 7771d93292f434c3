// A number that is being changed: Enter takes it, Escape doesn't.

import { useEffect, useId, useRef, useState } from "preact/hooks";

const WORDS = { nan: NaN, inf: Infinity, "-inf": -Infinity };

export function read(text) {
  const plain = text.trim().replace("\u2212", "-").replace(",", ".").toLowerCase();
  if (plain in WORDS) return WORDS[plain];
  return plain === "" || Number.isNaN(Number(plain)) ? null : Number(plain);
}

export function NumberInput({ value, label, words, done }) {
  const [text, setText] = useState(String(value)), [wrong, setWrong] = useState(false);
  const input = useRef(), finished = useRef(false);
  useEffect(() => { input.current.focus(); input.current.select(); }, []);
  const finish = next => { if (!finished.current) { finished.current = true; done(next); } };
  const take = leave => {
    const next = read(text);
    if (next === null && !leave) setWrong(true);
    else finish(next === value ? null : next);
  };
  const told = useId();
  return (
    <div>
      <input ref={input} class="edit" type="text" inputMode="decimal" value={text} aria-label={label}
        aria-invalid={wrong} aria-describedby={wrong ? told : undefined}
        onInput={event => { setText(event.currentTarget.value); setWrong(false); }}
        onKeyDown={event => {
          event.stopPropagation();
          if (event.key === "Enter") take(false);
          if (event.key === "Escape") finish(null);
        }}
        onPointerDown={event => event.stopPropagation()} onClick={event => event.stopPropagation()}
        onBlur={() => take(true)} />
      {wrong && <span class="wrong" id={told} role="alert">{words.say("not a number")}</span>}
    </div>
  );
}
