// Views that zoom and move together along z, switches, a table, marks on a track in all of them; the address keeps it all.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 58, right: 8, top: 6, bottom: 40 };
const classes = document.body.classList;
const switches = [...document.querySelectorAll("#switches input")];

// Ranges of the axes by name, mm: views that have z to the right share it; x-y keeps its own, equal scales.
const ranges = {};
const views = event.views.map((data) => {
  const figure = document.querySelector(`figure[data-view=${data.name}]`);
  const [plot, area, ticks] = ["svg.plot", "svg.area", "g.ticks"].map((name) => figure.querySelector(name));
  const keys = data.name === "xy" ? ["xy.x", "xy.y"] : data.axes;
  const whole = [0, 1].map((i) => [data.low[i], data.high[i]]);
  keys.forEach((key, i) => (ranges[key] = [...whole[i]]));
  return { ...data, figure, plot, area, ticks, keys, whole };
});
const wholeOf = (key) => {
  const view = views.find((view) => view.keys.includes(key));
  return view.whole[view.keys.indexOf(key)];
};

function element(parent, name, attributes, text) {
  const made = parent.appendChild(document.createElementNS(SVG, name));
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function roundSteps([from, to], count) {
  const rough = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
  const steps = [];
  // Far away from 0 a number and the next one may be the same.
  for (let n = Math.ceil(from / step); n * step <= to && steps.length <= 2 * count; n++) {
    steps.push(Number((n * step).toPrecision(12)));
  }
  return steps;
}

// Draws the axes of a view, and what of it is seen.
function show(view) {
  const { plot, area, ticks, keys, low, high, size } = view;
  const width = view.figure.clientWidth;
  const across = Math.max(width - MARGIN.left - MARGIN.right, 50);
  const up = Math.max((across * size[1]) / size[0], Math.min(across, 220));
  const height = up + MARGIN.top + MARGIN.bottom;
  plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const place = { x: MARGIN.left, y: MARGIN.top, width: across, height: up };
  for (const key in place) area.setAttribute(key, place[key]);
  view.place = place;
  const unit = [0, 1].map((i) => size[i] / (high[i] - low[i]));
  const [h, v] = keys.map((key) => ranges[key]);
  const box = [(h[0] - low[0]) * unit[0], (high[1] - v[1]) * unit[1], (h[1] - h[0]) * unit[0], (v[1] - v[0]) * unit[1]];
  // What has not moved is not drawn again.
  const drawn = [width, ...box].join(" ");
  if (drawn === view.drawn) return;
  view.drawn = drawn;
  area.setAttribute("viewBox", box.join(" "));
  ticks.replaceChildren();
  const [left, bottom] = [MARGIN.left, MARGIN.top + up];
  const at = (range, value, length) => ((value - range[0]) / (range[1] - range[0])) * length;
  let marks = `M${left} ${MARGIN.top}V${bottom}H${left + across}`;
  for (const value of roundSteps(h, Math.max(across / 60, 3))) {
    const x = left + at(h, value, across);
    marks += `M${x} ${bottom}v5`;
    element(ticks, "text", { x, y: bottom + 18, "text-anchor": "middle" }, value);
  }
  for (const value of roundSteps(v, Math.max(up / 45, 2))) {
    const y = bottom - at(v, value, up);
    marks += `M${left} ${y}h-5`;
    element(ticks, "text", { x: left - 8, y: y + 4, "text-anchor": "end" }, value);
  }
  element(ticks, "path", { class: "axis", d: marks });
  element(ticks, "text", { x: left + across / 2, y: bottom + 34, "text-anchor": "middle" }, view.axes[0] + ", mm");
  const turn = `rotate(-90 12 ${MARGIN.top + up / 2})`;
  element(ticks, "text", { x: 12, y: MARGIN.top + up / 2, "text-anchor": "middle", transform: turn }, view.axes[1] + ", mm");
}

let pinned = null;
let waiting = false;
function showAll() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    views.forEach(show);
    const parts = [];
    for (const key in ranges) {
      if (ranges[key].some((value, i) => value !== wholeOf(key)[i])) {
        parts.push(`${key}=${ranges[key].map((value) => Number(value.toPrecision(7))).join(",")}`);
      }
    }
    const off = switches.filter((one) => !one.checked).map((one) => one.value);
    if (off.length) parts.push("off=" + off.join(","));
    if (pinned !== null) parts.push("t=" + pinned);
    const fragment = "#" + parts.join("&");
    if (fragment !== (location.hash || "#")) history.replaceState(null, "", fragment);
  });
}

// Limits of zooming and moving, in lengths of the whole range.
const [CLOSEST, WIDEST, FARTHEST] = [1e-4, 2, 50];

// Whether a view can show a range: addresses are written by people, too.
function canShow([from, to], [low, high]) {
  const whole = high - low;
  const share = (to - from) / whole;
  const away = Math.max(Math.abs(from - low), Math.abs(to - high)) / whole;
  return share >= 0.99 * CLOSEST && share <= 1.01 * WIDEST && away <= FARTHEST;
}

// What the address says: ranges, what is switched off, which track is marked.
function restore() {
  const given = new Map(location.hash.slice(1).split("&").map((part) => part.split("=")));
  for (const key in ranges) {
    const range = (given.get(key) || "").split(",").map(Number);
    ranges[key] = range.length === 2 && canShow(range, wholeOf(key)) ? range : [...wholeOf(key)];
  }
  const off = (given.get("off") || "").split(",");
  for (const one of switches) {
    one.checked = !off.includes(one.value);
    classes.toggle("off-" + one.value, !one.checked);
  }
  pinned = given.get("t") ?? null;
  mark(pinned);
  showAll();
}

// Marks a track in all views and in the table.
let marked = null;
function mark(track) {
  if (track === marked) return;
  document.querySelectorAll(".marked").forEach((one) => {
    one.classList.remove("marked");
    one.querySelector(".area .dots")?.remove();
  });
  marked = track;
  const all = track === null ? [] : [...document.querySelectorAll(`[data-t="${CSS.escape(track)}"]`)];
  classes.toggle("marking", all.length > 0);
  for (const one of all) {
    one.classList.add("marked");
    const line = one.querySelector(".line");
    if (!line) continue;
    // The points of the line as dots.
    element(one, "path", { class: "dots", d: line.getAttribute("d").replace(/(?!^)[lm]/g, "h0m") + "h0" });
    one.parentNode.appendChild(one);
  }
}

function pin(track, scrolls) {
  pinned = track === pinned ? null : track;
  mark(pinned);
  const row = scrolls && document.querySelector("#tracks tr.marked");
  if (row) row.parentNode.parentNode.parentNode.scrollTop = row.offsetTop - 120;
  showAll();
}

// The track under the mouse, or some pixels beside it.
function trackAt(x, y) {
  for (const far of [0, 3, 6]) {
    for (let n = 0; n < (far ? 8 : 1); n++) {
      const [dx, dy] = [far * Math.cos((n * Math.PI) / 4), far * Math.sin((n * Math.PI) / 4)];
      const found = document.elementFromPoint(x + dx, y + dy)?.closest("[data-t]");
      if (found) return found.dataset.t;
    }
  }
  return null;
}

// While a view moves it is drawn in less detail.
let rest = 0;
function moving() {
  classes.add("moving");
  clearTimeout(rest);
  rest = setTimeout(() => classes.remove("moving"), 200);
  showAll();
}

// Zooms a view by a factor about a point, given as shares of its width and height.
function zoom(view, factor, [x, y]) {
  [x, y].forEach((share, i) => {
    const key = view.keys[i];
    const [range, whole] = [ranges[key], wholeOf(key)];
    const [long, all] = [range[1] - range[0], whole[1] - whole[0]];
    const next = Math.min(Math.max(long * factor, all * CLOSEST), all * WIDEST);
    const about = range[0] + share * long;
    ranges[key] = [about - share * next, about + (1 - share) * next];
  });
  moving();
}

for (const view of views) {
  const { plot, figure } = view;
  const share = (pointer) => {
    const box = plot.getBoundingClientRect();
    const { x, y, width, height } = view.place;
    return [(pointer.clientX - box.left - x) / width, 1 - (pointer.clientY - box.top - y) / height];
  };
  plot.addEventListener("wheel", (wheel) => {
    wheel.preventDefault();
    zoom(view, Math.exp(0.0015 * Math.max(-400, Math.min(400, wheel.deltaY))), share(wheel));
  }, { passive: false });
  let held = null;
  let moved = false;
  plot.addEventListener("pointerdown", (down) => {
    if (down.button) return;
    [held, moved] = [share(down), false];
    plot.setPointerCapture(down.pointerId);
  });
  plot.addEventListener("pointermove", (move) => {
    if (!held) return mark(trackAt(move.clientX, move.clientY) ?? pinned);
    const now = share(move);
    moved ||= Math.hypot((now[0] - held[0]) * view.place.width, (now[1] - held[1]) * view.place.height) > 3;
    if (!moved) return;
    view.keys.forEach((key, i) => {
      const by = (held[i] - now[i]) * (ranges[key][1] - ranges[key][0]);
      ranges[key] = ranges[key].map((value) => value + by);
    });
    held = now;
    moving();
  });
  const release = (up) => {
    if (held && !moved && up.type === "pointerup") pin(trackAt(up.clientX, up.clientY), true);
    held = null;
  };
  plot.addEventListener("pointerup", release);
  plot.addEventListener("pointercancel", release);
  plot.addEventListener("pointerleave", () => held || mark(pinned));
  plot.addEventListener("dblclick", () => {
    view.keys.forEach((key) => (ranges[key] = [...wholeOf(key)]));
    showAll();
  });
  figure.querySelectorAll("[data-zoom]").forEach((button) =>
    button.addEventListener("click", () => zoom(view, Number(button.dataset.zoom), [0.5, 0.5])));
}

// The table, which a click on a heading sorts.
const table = document.getElementById("tracks");
if (table) {
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  const heads = [{ name: "track" }, { name: "" }, ...event.columns];
  heads.forEach(({ name, unit, meaning }, column) => {
    const cell = head.appendChild(document.createElement("th"));
    cell.textContent = name;
    if (event.rows.some((row) => typeof row[column] === "number")) cell.className = "number";
    cell.title = (meaning ? meaning + "; " : "") + "click to sort";
    if (unit && unit !== "1") {
      cell.append(" ", Object.assign(document.createElement("span"), { className: "unit", textContent: unit }));
    }
    let sign = -1;
    cell.addEventListener("click", () => {
      sign = -sign;
      const value = (row) => event.rows[row.dataset.row][column];
      const order = (a, b) => {
        const [left, right] = [value(a), value(b)];
        if (left === null || right === null) return (left === null) - (right === null);
        return sign * (typeof left === "number" ? left - right : String(left).localeCompare(right, "en", { numeric: true }));
      };
      body.append(...[...body.rows].sort(order));
    });
  });
  event.rows.forEach((values, number) => {
    const row = body.insertRow();
    row.className = values[1];
    [row.dataset.row, row.dataset.t] = [number, values[0]];
    values.forEach((value, column) => {
      const cell = row.insertCell();
      if (typeof value === "number") cell.className = "number";
      if (column === 1) cell.appendChild(document.createElement("span")).className = "bullet";
      cell.append(value ?? "");
    });
  });
  const trackOf = (pointer) => pointer.target.closest("tr")?.dataset.t ?? null;
  body.addEventListener("pointerover", (over) => mark(trackOf(over)));
  body.addEventListener("pointerleave", () => mark(pinned));
  body.addEventListener("click", (click) => pin(trackOf(click), false));
}

for (const one of switches) {
  one.addEventListener("change", () => {
    classes.toggle("off-" + one.value, !one.checked);
    showAll();
  });
}
document.getElementById("whole").addEventListener("click", () => {
  for (const key in ranges) ranges[key] = [...wholeOf(key)];
  showAll();
});
window.addEventListener("resize", showAll);
window.addEventListener("hashchange", restore);
restore();
