// Zoom of the frame, what lies under the mouse, and pictures as files.
const sensor = document.querySelector("svg.sensor");
const whole = sensor.getAttribute("viewBox").split(" ").map(Number);
let view = [...whole];
const ticks = [...document.querySelectorAll("svg.frame > text, svg.frame > path")];
const tip = document.body.appendChild(document.createElement("div"));
tip.id = "tip";
const pixels = new Map();
const sizes = new Map();
for (const [x, y, tot, ns, cluster] of hits) {
  const key = x + "," + y;
  pixels.set(key, (pixels.get(key) || []).concat([[tot, ns, cluster]]));
  sizes.set(cluster, (sizes.get(cluster) || 0) + 1);
}

function show() {
  sensor.setAttribute("viewBox", view.join(" "));
  // The axes are those of the whole sensor.
  const zoomed = view[2] < whole[2] || view[3] < whole[3];
  ticks.forEach((mark) => mark.setAttribute("opacity", zoomed ? 0.3 : 1));
}

function place(event) {
  const box = sensor.getBoundingClientRect();
  const area = sensor.ownerSVGElement.getScreenCTM();
  const left = area.e + area.a * sensor.x.baseVal.value;
  const top = area.f + area.d * sensor.y.baseVal.value;
  const width = area.a * sensor.width.baseVal.value;
  const height = area.d * sensor.height.baseVal.value;
  return [
    view[0] + (view[2] * (event.clientX - left)) / (width || box.width),
    view[1] + (view[3] * (event.clientY - top)) / (height || box.height),
  ];
}

function keep() {
  for (const i of [0, 1]) {
    view[i + 2] = Math.min(view[i + 2], whole[i + 2]);
    view[i] = Math.min(Math.max(view[i], 0), whole[i + 2] - view[i + 2]);
  }
  show();
}

const frame = sensor.ownerSVGElement;
const inside = ([x, y]) =>
  x >= view[0] && y >= view[1] && x <= view[0] + view[2] && y <= view[1] + view[3];
frame.addEventListener("wheel", (event) => {
  const [x, y] = place(event);
  if (!inside([x, y])) return;
  event.preventDefault();
  const factor = Math.min(Math.pow(1.0015, event.deltaY), whole[2] / view[2]);
  if (view[2] * factor < 4) return;
  view = [x - (x - view[0]) * factor, y - (y - view[1]) * factor, view[2] * factor, view[3] * factor];
  keep();
}, { passive: false });
let held = null;
frame.addEventListener("mousedown", (event) => {
  held = inside(place(event)) ? place(event) : null;
  if (held) event.preventDefault();
});
window.addEventListener("mouseup", () => (held = null));
frame.addEventListener("dblclick", () => { view = [...whole]; show(); });
frame.addEventListener("mousemove", (event) => {
  const [x, y] = place(event);
  if (held) {
    view[0] -= x - held[0];
    view[1] -= y - held[1];
    keep();
  }
  const at = [Math.floor(x), height - 1 - Math.floor(y)];
  const found = inside([x, y]) ? pixels.get(at.join(",")) : null;
  tip.style.display = found ? "block" : "none";
  if (!found) return;
  const lines = found.map(([tot, ns, cluster]) =>
    `${tot} clocks = ${25 * tot} ns over threshold, at ${ns} ns, cluster ${cluster} of ${sizes.get(cluster)} hits`);
  tip.textContent = [`pixel ${at[0]}, ${at[1]}`, ...lines].join("\n");
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = event.clientY + 14 + "px";
});
frame.addEventListener("mouseleave", () => (tip.style.display = "none"));

function save(url, name) {
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
}

for (const svg of document.querySelectorAll("svg.picture")) {
  const name = svg.dataset.name;
  const url = () =>
    URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  const png = () => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      save(canvas.toDataURL("image/png"), name + ".png");
    };
    image.src = url();
  };
  const buttons = svg.parentNode.appendChild(document.createElement("div"));
  buttons.className = "save";
  for (const [label, act] of [["SVG", () => save(url(), name + ".svg")], ["PNG", png]]) {
    const button = buttons.appendChild(document.createElement("button"));
    button.textContent = label;
    button.title = "save this picture as " + label;
    button.onclick = act;
  }
}
