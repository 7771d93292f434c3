// Builds every page: a folder with index.html, main.js or main.jsx, and style.css becomes one file
// NAME.html, which asks no server for anything. `node build.mjs INTO`; `make pages` does it all.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv[2];
if (!into) throw new Error("usage: node build.mjs FOLDER");
mkdirSync(into, { recursive: true });

const shared = {
  absWorkingDir: here, bundle: true, write: false, minify: true, charset: "ascii",
  legalComments: "none", target: ["chrome123", "firefox120", "safari17.5"], metafile: true,
  logLevel: "warning",
};

async function bundled(entry, options) {
  const made = await build({ ...shared, entryPoints: [entry], ...options });
  return { text: made.outputFiles[0].text.trim(), inputs: Object.keys(made.metafile.inputs) };
}

// what a page has from others, by the name of the package
function packages(inputs) {
  const found = inputs.map(path => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]);
  return [...new Set(found.filter(Boolean))].sort();
}

function licence(name) {
  const folder = join(here, "node_modules", name);
  const file = readdirSync(folder).find(one => /^(licen[cs]e|copying)/i.test(one));
  if (!file) throw new Error(`${name} brings no licence`);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version}\n\n${text.replace(/[^\x00-\x7f]/g, "?")}\n`;
}

const all = new Map();
for (const name of readdirSync(here).sort()) {
  if (!existsSync(join(here, name, "index.html"))) continue;
  const main = existsSync(join(here, name, "main.jsx")) ? "main.jsx" : "main.js";
  const script = await bundled(`${name}/${main}`,
    { format: "iife", jsx: "automatic", jsxImportSource: "preact" });
  const style = await bundled(`${name}/style.css`);
  const used = packages([...script.inputs, ...style.inputs]).map(one => {
    all.set(one, licence(one));
    return all.get(one);
  });
  const head = used.length
    ? `<!-- With parts of:\n\n${used.join("\n\n").replaceAll("--", "- -")}-->\n` : "";
  // only this very script runs, whatever the data hold
  const hash = createHash("sha256").update(script.text).digest("base64");
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    + `base-uri 'none'; form-action 'none'; script-src 'sha256-${hash}'`;
  const page = readFileSync(join(here, name, "index.html"), "utf8")
    .replace("<!doctype html>\n", () => `<!doctype html>\n${head}`)
    .replace(/<!-- policy(.*) -->/, (_, more) =>  // "<!-- policy connect-src 'self' -->" adds to it
      `<meta http-equiv="Content-Security-Policy" content="${policy}${more && ";" + more}">`)
    .replace("<!-- style -->", () => `<style>\n${style.text}\n</style>`)
    .replace("<!-- data -->", '<script type="application/json" id="data">@@DATA@@</script>')
    .replace("<!-- script -->", () => `<script>${script.text}</script>`);
  for (const mark of ["@@TITLE@@", "@@DATA@@"]) {
    if (page.split(mark).length !== 2) throw new Error(`${name}: ${mark} must stand there once`);
  }
  if (/[^\x00-\x7f]/.test(page)) throw new Error(`${name}: the page must be ASCII`);
  writeFileSync(join(into, `${name}.html`), page);
  console.log(`${name}.html ${(page.length / 1000).toFixed(0)} KB`);
}
const line = `\n\n${"-".repeat(72)}\n\n`;
writeFileSync(join(into, "LICENSES.txt"),
  `The pages in this folder hold parts of these libraries.\n\n${[...all.values()].join(line)}`);
