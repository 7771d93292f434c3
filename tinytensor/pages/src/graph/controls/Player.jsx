// The buttons and the slider that move through time.

import { Icon } from "./Icon.jsx";
import { startOfBackward } from "../model/moments.js";

export const SPEEDS = [0.25, 0.5, 1, 2, 4];

export function Player({ list, index, playing, speed, words, go }) {
  const { say } = words, last = list.length - 1, turn = startOfBackward(list);
  const button = (key, action, extra = {}) => (
    <button type="button" aria-label={say(key)} title={say(key)} onClick={action} {...extra}><Icon name={key} /></button>
  );
  return (
    <section class="player" aria-label={say("player")}>
      <div class="slide">
        <input type="range" min={0} max={last} value={index} aria-label={say("slider")} aria-valuetext={say("progress", { at: index, all: last })}
          style={{ "--at": `${100 * index / Math.max(1, last)}%`, "--turn": `${100 * (turn < 0 ? 1 : (turn - 0.5) / Math.max(1, last))}%` }}
          onInput={event => go.to(Number(event.currentTarget.value))} />
        {turn >= 0 && <button type="button" class="turn" onClick={() => go.to(turn)}>{say("to backward")}</button>}
      </div>
      <div class="buttons">
        {button("first", () => go.to(0), { disabled: index === 0 })}
        {button("back", go.back, { disabled: index === 0, class: "big" })}
        {button(playing ? "pause" : "play", go.toggle, { class: "big main" })}
        {button("next", go.next, { disabled: index === last, class: "big next" })}
        {button("last", () => go.to(last), { disabled: index === last })}
        <label class="speed"><span>{say("speed")}</span>
          <select value={speed} onChange={event => go.speed(Number(event.currentTarget.value))}>
            {SPEEDS.map(one => <option key={one} value={one} selected={one === speed}>{one}×</option>)}
          </select>
        </label>
      </div>
    </section>
  );
}
