// The title, where one is, and the page's own settings.

import { useEffect, useRef } from "preact/hooks";
import { brief, clean } from "../model/numbers.js";
import { told } from "../words/words.js";
import { Icon } from "./Icon.jsx";
import { trail } from "../model/load.js";

export function Header({ data, view, words, act, settings }) {
  const { say } = words, path = trail(data, view);
  return (
    <header>
      <h1><bdi>{clean(told(data.title, words.language))}</bdi></h1>
      {path.length > 1 && (
        <nav aria-label={say("path")}>
          <ol>
            {path.map((id, i) => (
              <li key={id}>
                {id === view ? <span aria-current="page"><bdi>{brief(data.views[id].title)}</bdi></span>
                  : <button type="button" onClick={() => act.leaveTo(id)}><bdi>{brief(data.views[id].title)}</bdi></button>}
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="settings" role="group" aria-label={say("controls")}>
        <button type="button" lang={settings.other} onClick={settings.language}>{say("switch language")}</button>
        <button type="button" onClick={settings.theme} aria-label={say("theme")} title={say("theme")}><Icon name="theme" /></button>
        <button type="button" onClick={settings.help} aria-label={say("help")} title={`${say("help")} (?)`}><span aria-hidden="true">?</span></button>
      </div>
    </header>
  );
}

export function Help({ words, play, close }) {
  const { say } = words, dialog = useRef();
  useEffect(() => dialog.current.showModal(), []);
  const keys = [
    play && ["← →", "arrows"], ["↑ ↓", "updown"], play && ["space", "space"], play && ["Home End", "homeend"],
    play && ["b", "b"], play && ["+ −", "speed"], ["Enter", "enter"], ["o", "o"], ["Esc", "escape"], ["?", "question"],
  ].filter(Boolean);
  return (
    <dialog ref={dialog} onClose={close} aria-label={say("help")} onClick={event => event.target === dialog.current && dialog.current.close()}>
      <div>
        <h2>{say("help")}</h2>
        {play && <p>{say("help text")}</p>}
        <h3>{say("keys")}</h3>
        <dl class="keys">
          {keys.map(([key, word]) => <div key={word}><dt><kbd>{key}</kbd></dt><dd>{say(`key ${word}`)}</dd></div>)}
        </dl>
        <button type="button" onClick={() => dialog.current.close()}>{say("close")}</button>
      </div>
    </dialog>
  );
}
