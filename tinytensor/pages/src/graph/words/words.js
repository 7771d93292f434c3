// The language of the page: `say(key, {name: value})` fills a sentence of en.js or zh.js.

import en from "./en.js";
import zh from "./zh.js";

export const LANGUAGES = { en, zh };

export const preferred = () =>
  (navigator.languages || [navigator.language || "en"])
    .map(one => one.slice(0, 2).toLowerCase()).find(one => one in LANGUAGES) || "en";

export const sayer = language => (key, values = {}) => {
  const text = LANGUAGES[language][key];
  if (text === undefined) throw new Error(`no words for ${key}`);
  return language === "zh" ? spaced(text, values)
    : text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
};

const HAN = /\p{Script=Han}/u;

// Chinese: a space between a Chinese character and a Latin letter or number, none between two Chinese ones
function spaced(text, values) {
  const gap = (template, filled, space) => !HAN.test(template) ? space : HAN.test(filled) ? "" : /[\p{L}\p{N}]/u.test(filled) ? " " : space;
  return text.replace(/( ?)\{(\w+)\}( ?)/g, (whole, before, name, after, at) => {
    const value = String(values[name]), letters = [...value];
    return gap(text[at - 1] || "", letters[0] || "", before) + value
      + gap(text[at + whole.length] || "", letters.at(-1) || "", after);
  });
}

// a text of the user: one, or one for each language, {en: "...", zh: "..."}
export function told(text, language) {
  if (text === null || typeof text !== "object") return String(text ?? "");
  const key = Object.keys(text).find(one => one.slice(0, 2).toLowerCase() === language);
  return String(text[key] ?? text.en ?? Object.values(text)[0] ?? "");
}

// what an op is called in a sentence
export const opName = (language, op) => LANGUAGES[language][`op ${op}`] || op;
