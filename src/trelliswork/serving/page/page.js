// The page of `trelliswork serve`: a sentence goes to /analyse, what comes back is drawn; a click fixes a label (or a
// head) and asks again. No library, nothing from outside.
"use strict";

const $ = (id) => document.getElementById(id);
const state = { model: null, answer: null, fixed: {}, chosen: 0, asked: 0, cell: null };
const KINDS = { labels: "labels of tokens", dependencies: "dependency trees", constituents: "constituency trees" };
const COLOURS = ["#1f5ea8", "#1f7a4d", "#b3392f", "#8a5a00", "#6b3fa0", "#0b7285", "#a61e6b", "#56606e"];

function made(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "style") Object.entries(value).forEach(([key, own]) => node.style.setProperty(key, own));
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const percent = (p) => (p >= 0.9995 ? "100%" : p < 0.0005 ? "0%" : `${(100 * p).toFixed(p > 0.1 ? 0 : 1)}%`);
const probability = (log) => (Math.exp(log) >= 0.0005 ? percent(Math.exp(log)) : `log p ${log.toFixed(1).replace("-", "−")}`);
const word = (token) => (Array.isArray(token) ? token.join("/") : token);
const colour = (name) => {
  const types = [...new Set(state.model.labels.map((label) => label.replace(/^[A-Z]-/, "")))];
  return COLOURS[types.indexOf(name) % COLOURS.length] || COLOURS[0];
};

// ---- asking -----------------------------------------------------------------------------------------------------

function sentence() {
  const text = $("text").value;
  if (state.model.columns === 1) return { text };
  return { tokens: text.split(/\s+/).filter(Boolean).map((one) => one.split("/").length > 1 ? cut(one) : one) };
}

function cut(one) {  // the last cells are columns: "1/2/CD" is "1/2" and "CD" where the model looks at two
  const cells = one.split("/");
  const kept = Math.max(1, cells.length - state.model.columns + 1);
  return [cells.slice(0, kept).join("/"), ...cells.slice(kept)];
}

async function ask(path, body) {
  const response = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function analyse() {
  const number = ++state.asked;
  if (!$("text").value.trim()) return show(null);
  try {
    const answer = await ask("analyse", { ...sentence(), fixed: state.fixed });
    if (number !== state.asked) return;  // a later question is on its way
    state.answer = answer;
    state.chosen = Math.min(state.chosen, answer.tokens.length - 1);
    $("problem").hidden = true;
    show(answer);
  } catch (error) {
    if (number !== state.asked) return;
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  }
}

async function explain() {
  const number = state.asked;
  const told = Object.keys(state.fixed).length > 0;
  $("why-told").textContent = told ? "Of the model's own answer, without what you have fixed." : "What each attribute and transition adds to the score.";
  try {
    const answer = await ask("explain", { ...sentence(), position: state.chosen, top: 12 });
    if (number === state.asked) showWhy(answer);
  } catch (error) {
    $("why").textContent = error.message;
  }
}

function fix(position, value) {
  if (state.fixed[position] === value) delete state.fixed[position];
  else state.fixed[position] = value;
  state.chosen = position;
  analyse();
}

function choose(position) {
  state.chosen = position;
  show(state.answer);
}

// ---- drawing ----------------------------------------------------------------------------------------------------

function show(answer) {
  const labels = state.model.kind === "labels";
  const there = answer !== null && answer.tokens.length > 0;
  $("answer").hidden = !there || !labels;
  $("tree-section").hidden = !there || labels;
  $("trellis-section").hidden = !there || !labels || !answer.marginals;
  $("best-section").hidden = !there || !answer.best;
  $("why-section").hidden = !there;
  if (!there) return;
  if (labels) {
    showSpans(answer);
    if (answer.marginals) showTrellis(answer);
  } else showTree(answer);
  if (answer.best) showBest(answer);
  explain();
}

function tokenButton(answer, t) {
  const properties = { type: "button", class: "token", "aria-pressed": t === state.chosen, onclick: () => choose(t) };
  return made("button", properties, word(answer.tokens[t]));
}

function showSpans(answer) {
  const found = [];
  const sorted = (answer.spans || []).slice().sort((a, b) => a.start - b.start);
  for (let t = 0; t < answer.tokens.length;) {
    const span = sorted.find((one) => one.start === t);
    const stop = span ? span.stop : t + 1;
    const words = made("span", { class: "words" });
    for (; t < stop; t++) words.append(tokenButton(answer, t));
    if (span) {
      found.push(made("span", { class: "span named", style: { "--span": colour(span.type) } }, words,
        made("span", { class: "type" }, `${span.type} ${percent(span.probability)}`)));
    } else {
      const label = sorted.length || answer.spans ? "" : labelOf(answer, t - 1);
      found.push(made("span", { class: "span" }, words, made("span", { class: "type" }, label)));
    }
  }
  $("spans").replaceChildren(...found);
  const fixed = Object.entries(state.fixed);
  $("fixed").replaceChildren();
  if (fixed.length) {
    const told = fixed.map(([t, label]) => `${word(answer.tokens[t] ?? "?")} is ${label}`).join(", ");
    $("fixed").append(`Fixed: ${told}. `, made("button", { type: "button", onclick: release }, "Release"));
  }
}

function labelOf(answer, t) {
  const label = answer.labels[t];
  if (!answer.marginals) return label;
  return `${label} ${percent(answer.marginals[t][state.model.labels.indexOf(label)])}`;
}

function release() {
  state.fixed = {};
  analyse();
}

function showTrellis(answer) {
  const all = $("all").checked;
  const rows = state.model.labels.map((label, k) => [label, k]).filter(([label, k]) =>
    all || answer.labels.includes(label) || answer.marginals.some((row) => row[k] >= 0.01));
  const grid = $("trellis");
  const active = state.cell;
  grid.style.gridTemplateColumns = `auto repeat(${answer.tokens.length}, max-content)`;
  const nodes = [made("span", { role: "presentation" }),
    ...answer.tokens.map((token) => made("span", { class: "column-name", role: "columnheader" }, word(token)))];
  for (const [label, k] of rows) {
    nodes.push(made("span", { class: "row-name", role: "rowheader" }, label));
    answer.marginals.forEach((row, t) => nodes.push(cell(answer, label, row[k], t)));
  }
  grid.replaceChildren(...nodes);
  drawPath(grid);
  const first = grid.querySelector(active ? `[data-t="${active[0]}"][data-label="${CSS.escape(active[1])}"]` : ".best");
  if (first) {
    first.tabIndex = 0;
    if (active) first.focus();
  }
}

function cell(answer, label, p, t) {
  const best = answer.labels[t] === label;
  const fixed = state.fixed[t] === label;
  const name = `${word(answer.tokens[t])}: ${label}, ${percent(p)}${fixed ? ", fixed" : ""}`;
  return made("button", {
    type: "button", class: `cell${best ? " best" : ""}${fixed ? " fixed" : ""}${p > 0.75 ? " sure" : p < 0.005 && !best ? " empty" : ""}`, role: "gridcell",
    style: { "--p": p.toFixed(4) }, "data-t": t, "data-label": label, "aria-label": name, title: name, tabindex: -1,
    onclick: () => { state.cell = [t, label]; fix(t, label); }, onkeydown: move,
  }, p >= 0.005 || best ? percent(p) : "");
}

function move(event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  const cells = [...$("trellis").querySelectorAll(".cell")];
  const width = state.answer.tokens.length;
  const i = cells.indexOf(event.currentTarget);
  const t = (i % width) + step[0];
  const row = Math.floor(i / width) + step[1];
  const next = t >= 0 && t < width && row >= 0 ? cells[row * width + t] : undefined;
  if (!next) return;
  event.currentTarget.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function drawPath(grid) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const places = [...grid.querySelectorAll(".best")].sort((a, b) => a.dataset.t - b.dataset.t)
    .map((one) => `${one.offsetLeft + one.offsetWidth / 2},${one.offsetTop + one.offsetHeight / 2}`);
  line.setAttribute("points", places.join(" "));
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  grid.append(svg);
}

function showTree(answer) {
  const drawn = new DOMParser().parseFromString(answer.svg, "image/svg+xml").documentElement;
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", "The tree");
  $("tree").replaceChildren(document.importNode(drawn, true));
  if (state.model.kind === "dependencies") showHeads(answer);
  else $("heads").replaceChildren(made("p", {}, ...answer.tokens.map((_, t) => tokenButton(answer, t))));
}

function showHeads(answer) {
  const rows = answer.tokens.map((token, t) => {
    const select = made("select", { "aria-label": `Head of ${token}`, onchange: (event) => {
      const head = event.target.value;
      delete state.fixed[t];
      if (head !== "") fix(t, Number(head));
      else analyse();
    } }, made("option", { value: "" }, `auto: ${name(answer, answer.heads[t])}`));
    [0, ...answer.tokens.map((_, m) => m + 1)].filter((h) => h !== t + 1).forEach((h) => {
      const option = made("option", { value: h }, name(answer, h));
      option.selected = state.fixed[t] === h;
      select.append(option);
    });
    const p = answer.probabilities ? percent(answer.probabilities[t]) : "";
    return made("tr", {}, made("td", {}, tokenButton(answer, t)), made("td", {}, select),
      made("td", {}, answer.relations ? answer.relations[t] : ""), made("td", {}, p));
  });
  const head = ["word", "head", "relation", "probability"].map((one) => made("th", { scope: "col" }, one));
  $("heads").replaceChildren(made("table", {}, made("tr", {}, ...head), ...rows));
}

const name = (answer, head) => (head === 0 ? "root" : `${head} ${word(answer.tokens[head - 1])}`);

function showBest(answer) {
  const values = (one) => one.labels || (one.tree ? [one.tree] : one.heads.map((head, t) =>
    `${answer.tokens[t]}←${head === 0 ? "root" : answer.tokens[head - 1]}${one.relations ? ` ${one.relations[t]}` : ""}`));
  const first = values(answer.best[0]);
  $("best").replaceChildren(...answer.best.map((one) => {
    const item = made("li", {}, made("span", { class: "number" }, `${probability(one.log_prob)}  `));
    values(one).forEach((value, t) => item.append(
      made(value === first[t] ? "span" : "b", { class: one.tree ? "" : "value" }, value), " "));
    return item;
  }));
}

function showWhy(answer) {
  const blocks = answer.explained.map((one) => {
    const largest = Math.max(...one.contributions.map((c) => Math.abs(c.value)), 1e-9);
    const rows = one.contributions.map((c) => made("tr", {},
      made("td", {}, (c.value >= 0 ? "+" : "−") + Math.abs(c.value).toFixed(3)),
      made("td", {}, made("span", { class: `bar ${c.value >= 0 ? "for" : "against"}`,
        style: { width: `${(100 * Math.abs(c.value)) / largest}%` } })),
      made("td", {}, c.attribute === null ? `after ${c.previous}` : c.attribute + (c.previous ? ` after ${c.previous}` : ""))));
    const what = one.position === undefined ? answer.tokens.slice(one.start, one.stop).join(" ") : word(answer.tokens[one.position]);
    const head = one.head === undefined ? "" : ` ← ${name(answer, one.head)}`;
    const other = one.runner_up ? `, next ${one.runner_up.label} ${percent(one.runner_up.probability)}` : "";
    const more = one.others ? [made("p", { class: "quiet" }, `and ${one.others} more`)] : [];
    return made("div", {}, made("p", {}, made("strong", {}, `${what}${head}: ${one.label}`),
      ` ${percent(one.probability)}${other}`), made("table", {}, ...rows), ...more);
  });
  $("why").replaceChildren(...blocks);
}

// ---- beginning --------------------------------------------------------------------------------------------------

async function begin() {
  state.model = await (await fetch("model")).json();
  const { name: file, kind, labels, columns, probabilities } = state.model;
  $("model").textContent = `${file}: ${KINDS[kind]}, ${labels.length} labels${probabilities ? "" : ". Its scores are not calibrated, so read percentages with care."}`;
  $("hint").textContent = columns === 1 ? "The answer appears as you type." : "Separate words with spaces and columns with slashes: dog/NOUN barks/VERB";
  let timer = 0;
  $("text").addEventListener("input", () => {
    clearTimeout(timer);
    state.fixed = {};
    state.cell = null;
    timer = setTimeout(analyse, 80);
  });
  $("all").addEventListener("change", () => { state.cell = null; show(state.answer); });
  $("form").addEventListener("submit", (event) => event.preventDefault());
  if (location.hash.length > 1) $("text").value = decodeURIComponent(location.hash.slice(1));
  analyse();
}

begin();
