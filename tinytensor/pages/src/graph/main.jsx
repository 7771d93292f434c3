import { render } from "preact";
const data = JSON.parse(document.getElementById("data").textContent);
render(<h1>{data.title}</h1>, document.getElementById("page"));
