// The page: what is shown, and what moves it.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Header, Help } from "./controls/Header.jsx";
import { Player, SPEEDS } from "./controls/Player.jsx";
import { Search } from "./controls/Search.jsx";
import { useKeys } from "./controls/keys.js";
import { explain, same } from "./model/explain.js";
import { isLeaf } from "./model/load.js";
import { history, isBackward, momentOf, moments, startOfBackward, stateAt } from "./model/moments.js";
import { brief, clean } from "./model/numbers.js";
import { nameOf } from "./model/names.js";
import { announced } from "./model/sentences.js";
import { compared, edited, isChanged, withEdits } from "./model/whatif.js";
import { Panel } from "./panel/Panel.jsx";
import { Stage } from "./stage/Stage.jsx";
import { LANGUAGES, preferred, sayer, told } from "./words/words.js";

const media = query => matchMedia(query).matches;
const PACE = { forward: 1300, backward: 1900 };  // milliseconds at speed 1

export function App({ original }) {
  const play = original.kind === "steps";
  const [view, setView] = useState(0);
  const [places, setPlaces] = useState({});  // the moment of each view
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const [selected, select] = useState(null);
  const [pointed, point] = useState(null);
  const [edits, setEdits] = useState([]);
  const [language, setLanguage] = useState(preferred);
  const [theme, setTheme] = useState("");
  const [help, setHelp] = useState(false);
  const [notice, setNotice] = useState("");
  const [from, setFrom] = useState(null);  // where on the stage an opened view grows from

  const words = useMemo(() => ({ say: sayer(language), language }), [language]);
  const { data, trouble } = useMemo(() => play ? withEdits(original, edits) : { data: original }, [edits]);
  const list = useMemo(() => play ? moments(data, view) : [], [data, view]);
  const last = list.length - 1, index = Math.min(places[view] || 0, Math.max(0, last));
  const moment = list[index];
  const past = useMemo(() => play && history(data, view, list), [data, list]);
  const state = play && stateAt(past, index);
  const explained = useMemo(() => explain(data, view, moment, pointed), [data, view, moment, pointed]);
  const still = media("(prefers-reduced-motion: reduce)");

  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    document.title = clean(told(original.title, language));
  }, [language]);
  useEffect(() => { document.documentElement.dataset.theme = theme; }, [theme]);

  const moveTo = useCallback((place, of = view) => {
    setNotice("");
    select(null);
    point(null);
    setPlaces(before => ({ ...before, [of]: place }));
  }, [view]);
  const go = {
    to: place => { setPlaying(false); moveTo(Math.min(last, Math.max(0, place))); },
    next: () => go.to(index + 1),
    back: () => go.to(index - 1),
    toggle: () => {
      if (!playing && index === last) moveTo(0);
      setPlaying(!playing);
    },
    speed: setSpeed,
    faster: by => setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(speed) + by))]),
    turn: () => startOfBackward(list) >= 0 && go.to(startOfBackward(list)),
    last: () => go.to(last),
  };

  useEffect(() => {
    if (!playing) return undefined;
    if (index >= last) { setPlaying(false); return undefined; }
    const pace = PACE[isBackward(list[index + 1]) ? "backward" : "forward"] / speed;
    const timer = setTimeout(() => moveTo(index + 1), pace);
    return () => clearTimeout(timer);
  }, [playing, index, speed, view, list]);

  const show = (to, origin) => {
    setNotice("");
    // what is told of the view begins at the top
    document.querySelector(".panel").scrollTop = 0;
    window.scrollTo(0, 0);
    setPlaying(false);
    select(null);
    point(null);
    setFrom(origin);
    setView(to);
  };
  const latest = useRef();
  latest.current = {
    point: at => point(before => before === at || same(before, at) ? before : at),
    choose: one => {
      const place = play ? momentOf(list, index, one, data) : -1;
      if (place >= 0) { go.to(place); if (one.value !== undefined) select(one); } else { setPlaying(false); select(one); }
    },
    open: step => {
      const to = data.steps[step].opens;
      if (to === null || to === undefined) return;
      const node = document.querySelector(`[data-node="s${step}"]`), stage = document.querySelector(".stage svg");
      const a = node?.getBoundingClientRect(), b = stage?.getBoundingClientRect();
      show(to, a && b && { x: a.x + a.width / 2 - b.x, y: a.y + a.height / 2 - b.y, scale: 0.2 });
      // inside, the play stands where it stands outside: forward or backward
      if (play && moment && isBackward(moment)) {
        const inner = moments(data, to), turn = startOfBackward(inner);
        setPlaces(before => ({ ...before, [to]: Math.max(0, turn) }));
      }
    },
    leaveTo: id => show(id, { x: 400, y: 250, scale: 1.5 }),
    goTo: one => {
      if (one.view !== view) show(one.view, null);
      select(one);
    },
    out: () => {
      if (selected) select(null);
      else if (data.views[view].parent !== null) latest.current.leaveTo(data.views[view].parent);
    },
    openNow: () => {
      const step = selected?.step ?? moment?.step;
      if (step !== undefined && (data.steps[step].opens ?? null) !== null) latest.current.open(step);
      else setNotice(words.say("nothing opens"));
    },
    editable: id => play && !trouble && isLeaf(data, id) && data.values[id].data !== null && data.values[id].dtype !== "bool",
    edit: (value, at, number) => {
      setEdits(before => edited(before, original, { value, index: at, number }));
      const stage = document.querySelector(".stage").getBoundingClientRect();
      if (stage.top < 0 || stage.bottom > innerHeight) document.querySelector(".stage").scrollIntoView({ block: "nearest" });
    },
    reset: () => setEdits([]),
    help: () => setHelp(true),
  };
  // the same functions at each render, which do what those of the last render do
  const act = useMemo(() => Object.fromEntries(Object.keys(latest.current)
    .map(name => [name, (...given) => latest.current[name](...given)])), []);

  const changes = useMemo(() => at => edits.length && isChanged(original, data, at) ? "changed" : "", [data]);
  const marks = at => [
    same(at, pointed) && "pointed",
    explained && (at.of === "data" || at.of === "grad")
      && explained.cells.some(cell => cell.value === at.value && cell.of === at.of && cell.index === at.index) && "cell",
    changes(at),
  ].filter(Boolean).join(" ");

  useKeys({ go, act, play, still: help });

  const problem = trouble && (trouble.unsupported
    ? words.say("unsupported", { ops: trouble.unsupported.map(one => brief(one)).join(", ") })
    : words.say("missing", { names: [...new Set(trouble.missing)].slice(0, 6).map(id => nameOf(data, id, words)).join(", ") }));
  const settings = {
    other: language === "zh" ? "en" : "zh-CN",
    language: () => { const all = Object.keys(LANGUAGES); setLanguage(all[(all.indexOf(language) + 1) % all.length]); },
    theme: () => setTheme((theme || (media("(prefers-color-scheme: dark)") ? "dark" : "light")) === "dark" ? "light" : "dark"),
    help: () => setHelp(true),
  };
  const shared = { data, view, moment, list, index, state, words, selected, pointed, explained, marks, changes, act, play };
  return (
    <div class={`page ${play ? "" : "plain"} ${playing ? "playing" : ""}`}>
      <Header {...shared} settings={settings} />
      {!play && <Search data={data} words={words} go={act.goTo} />}
      <main>
        <Stage {...shared} still={still} duration={Math.min(900, 800 / speed)} from={from} notice={notice} />
        {play && <Player list={list} index={index} playing={playing} speed={speed} words={words} go={go} />}
        <Panel {...shared} edited={edits.length > 0} trouble={problem}
          compare={() => compared(data, original, edits, data.views[0].values.filter(id => isLeaf(data, id)))} />
      </main>
      {play && <p class="unseen" aria-live="polite" aria-atomic="true">{notice || announced(data, list, index, words)}</p>}
      {help && <Help words={words} play={play} close={() => setHelp(false)} />}
    </div>
  );
}
