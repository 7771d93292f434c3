// Signs of buttons, drawn, because fonts differ in those they have.

const PATHS = {
  first: "M5 5v14M19 5L9 12l10 7z", back: "M16 5L7 12l9 7z", play: "M7 4l13 8-13 8z", pause: "M7 5h3v14H7zM14 5h3v14h-3z",
  next: "M5 5l9 7-9 7zM18 5v14", last: "M4 5l7 7-7 7zM12 5l7 7-7 7zM21 5v14",
  in: "M12 5v14M5 12h14", out: "M5 12h14", fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  theme: "M12 3a9 9 0 0 0 0 18zM12 3a9 9 0 0 1 0 18",
};
const OPEN = new Set(["in", "out", "fit"]);

export const Icon = ({ name }) => (
  <svg class={`icon ${OPEN.has(name) ? "open" : ""}`} viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
    <path d={PATHS[name]} fill={OPEN.has(name) || name === "theme" ? "none" : "currentColor"} />
    {name === "theme" && <path d="M12 3a9 9 0 0 0 0 18z" fill="currentColor" />}
  </svg>
);
