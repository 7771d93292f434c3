// Watch it learn: a run's history with a slider over its steps, while it goes or afterwards.

import { render } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { Attention } from "./attention.jsx";
import { Activations, Gradients } from "./layers.jsx";
import { Losses } from "./losses.jsx";
import { at, follow, steps, store } from "./store.js";
import { languages } from "./words.js";

const BETWEEN = 250;  // milliseconds between two looks while it plays
const dark = matchMedia("(prefers-color-scheme: dark)");

function App() {
  const [version, changed] = useReducer(n => n + 1, 0);
  const [chosen, choose] = useState(null);  // a step; null is the newest
  const [playing, play] = useState(false);
  const [language, speak] = useState(navigator.language.startsWith("zh") ? "zh" : "en");
  const [theme, paint] = useState("auto");
  const t = languages[language][1];
  const known = steps(), last = known[known.length - 1] ?? 0, first = known[0] ?? 0;
  const step = chosen === null ? last : Math.min(chosen, last);

  useEffect(() => follow(changed), []);
  useEffect(() => {
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  useEffect(() => { document.documentElement.lang = language === "zh" ? "zh-Hans" : "en"; }, [language]);
  document.documentElement.dataset.theme = theme;
  const look = `${theme} ${dark.matches}`;

  const go = to => choose(to >= last ? null : Math.max(first, to));
  const next = () => known.find(one => one > step) ?? last;
  const before = () => [...known].reverse().find(one => one < step) ?? first;
  useEffect(() => {
    if (!playing) return;
    if (step >= last) {
      if (store.ended || !store.live) play(false);
      return;
    }
    const timer = setTimeout(() => go(next()), BETWEEN);
    return () => clearTimeout(timer);
  }, [playing, step, version]);
  const start = () => {
    if (!playing && step >= last) choose(first);
    play(!playing);
  };

  const shared = {t, store, step, choose: to => { play(false); go(to); }, look, version};
  const run = store.run;
  const state = store.lost ? t.lost : !store.live ? t.replay : store.ended ? t.ended : t.training;
  return <>
    <header>
      <h1><bdi>{document.title}</bdi></h1>
      <div class="settings">
        <label>{t.language} <select id="language" value={language} onChange={e => speak(e.currentTarget.value)}>
          {Object.entries(languages).map(([key, [name]]) => <option key={key} value={key} lang={key}>{name}</option>)}
        </select></label>
        <label>{t.theme} <select id="theme" value={theme} onChange={e => paint(e.currentTarget.value)}>
          {["auto", "light", "dark"].map(key => <option key={key} value={key}>{t[key]}</option>)}
        </select></label>
      </div>
      <p class="say">{t.about(run)} {run.thinned > 0 && t.thinned(run.thinned)}</p>
      <p class="state" role="status" id="state">{state}</p>
    </header>
    <main>
      <div class="steps" role="group" aria-label={t.step}>
        <button type="button" id="play" onClick={start}>{playing ? t.pause : t.play}</button>
        <button type="button" id="back" disabled={step <= first} onClick={() => shared.choose(before())}>{t.back}</button>
        <button type="button" id="next" disabled={step >= last} onClick={() => shared.choose(next())}>{t.next}</button>
        <input type="range" id="step" min={first} max={Math.max(last, first + 1)} value={step} aria-label={t.step}
          aria-valuetext={t.of(step, run.steps ?? last)} onInput={e => shared.choose(Number(e.currentTarget.value))} />
        <output for="step" id="shown">{t.of(step, run.steps ?? last)}</output>
        {store.live && <label><input type="checkbox" id="newest" checked={chosen === null}
          onChange={e => { play(false); choose(e.currentTarget.checked ? null : step); }} /> {t.newest}</label>}
      </div>
      <div>
        <Losses {...shared} />
        <Sample {...shared} />
        <Attention {...shared} />
      </div>
      <div>
        <Gradients {...shared} />
        <Activations {...shared} />
      </div>
    </main>
  </>;
}

function Sample({ t, store, step }) {
  const looks = store.of.sample, now = looks.length ? at(looks, step) : null;
  const writes = store.run.task === "text";
  return <section aria-labelledby="sample">
    <h2 id="sample">{writes ? t.sample : t.answers}</h2>
    <p class="say">{writes ? t.sampleSay : t.answersSay}</p>
    {now === null ? <p class="now">{t.none}</p> : <>
      <h3>{t.seenAt(now[0])}</h3>
      <pre id="written" tabIndex="0" role="group" aria-label={t.sample} dir="auto" class={writes ? "text" : ""}>{now[1]}</pre>
      <details>
        <summary>{t.all} ({looks.length})</summary>
        {looks.map(([at, text]) => <div key={at}>
          <h3>{t.seenAt(at)}</h3>
          <pre tabIndex="0" role="group" aria-label={t.seenAt(at)} dir="auto" class={writes ? "text" : ""}>{text}</pre>
        </div>)}
      </details>
    </>}
  </section>;
}

render(<App />, document.getElementById("app"));
