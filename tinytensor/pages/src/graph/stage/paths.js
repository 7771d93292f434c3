// Points on the curves that Graphviz drew.

const measured = new Map();

function curve(path) {
  if (!measured.has(path)) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
    element.setAttribute("d", path);
    measured.set(path, { element, length: element.getTotalLength() });
  }
  return measured.get(path);
}

// the point at a share of the way, 0 to 1
export function pointAt(path, share) {
  const { element, length } = curve(path), { x, y } = element.getPointAtLength(share * length);
  return [x, y];
}

// the arrow's tip as a triangle: from the end of the curve to its head
export function tip(path, [x, y]) {
  const ends = [pointAt(path, 0), pointAt(path, 1)];
  const far = ([a, b]) => Math.hypot(a - x, b - y);
  const [a, b] = far(ends[0]) < far(ends[1]) ? ends[0] : ends[1];
  const length = Math.max(1e-6, Math.hypot(x - a, y - b)), wide = 3.6;
  const [dx, dy] = [(x - a) / length, (y - b) / length];
  const [p, q] = [x - dx * 8, y - dy * 8];
  return `M${x},${y}L${p - dy * wide},${q + dx * wide}L${p + dy * wide},${q - dx * wide}Z`;
}
