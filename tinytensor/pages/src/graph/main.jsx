import { render } from "preact";
import { App } from "./App.jsx";
import { load } from "./model/load.js";

const raw = JSON.parse(document.getElementById("data").textContent);
render(<App original={load(raw)} />, document.getElementById("page"));
