// The page: it receives one stream of events from muxpilot. Only answers to questions are sent back.

import { Pane } from "./pane.js";
import * as audit from "./audit.js";
import { showQuestions } from "./questions.js";

const MOST_WAITING = 200;
const RETRY_MS = 3000;
const NOTICE_MS = 3000;
const panes = new Map();
const container = document.getElementById("panes");
const status = document.getElementById("state");
const all = document.getElementById("all");
const others = document.getElementById("others");
let source = null;
let isFresh = true; // the first audit entries of a stream are old ones
let overview = null;
let wanted = null; // the key of a pane that must be among those shown
let isAwaited = false; // the wanted pane is to be brought into view when it comes

/** Starts a new stream, which begins with the overview and all screens. */
function connect() {
  source?.close();
  panes.forEach((pane) => pane.startStream());
  isFresh = true;
  const query = new URLSearchParams({ ...(all.checked && { all: "" }), ...(wanted && { pane: wanted }) });
  source = new EventSource(`events?${query}`);
  source.addEventListener("open", () => ((isFresh = true), audit.clear()));
  source.addEventListener("error", handleLostStream);
  listen("overview", updateOverview);
  listen("questions", (facts) => showQuestions(facts.questions));
  listen("data", (facts) => passToPane("write", facts));
  listen("screen", (facts) => passToPane("draw", facts));
  listen("audit", (facts) => {
    audit.addEntries(facts, { onChoose: showPaneOf });
    if (!isFresh) facts.entries.flatMap(panesOf).forEach((pane) => pane.flash());
    isFresh = false;
  });
}

function listen(name, listener) {
  source.addEventListener(name, (event) => listener(JSON.parse(event.data)));
}

async function handleLostStream() {
  const ended = source;
  if (ended.readyState !== EventSource.CLOSED) return setStatus("Connection lost; trying again …", true);
  const reason = await fetchRefusal(ended.url);
  if (ended !== source) return;
  setStatus(reason ?? "muxpilot view has ended. Start it again and open its new address.", true);
  if (reason) setTimeout(() => ended === source && !document.hidden && connect(), RETRY_MS);
}

/** Returns why there is no stream now, which browsers hide; null if the server has ended. */
async function fetchRefusal(address) {
  const abort = new AbortController();
  try {
    const answer = await fetch(address, { signal: abort.signal });
    if (answer.ok) return "Connecting …";
    return answer.status === 503 ? (await answer.text()).trim() : null;
  } catch {
    return null;
  } finally {
    abort.abort();
  }
}

function setStatus(text, isBad = false) {
  status.textContent = text;
  status.classList.toggle("bad", isBad);
}

function updateOverview(facts) {
  const known = new Set(facts.panes.map((row) => row.key));
  for (const [key, pane] of panes) {
    if (known.has(key)) continue;
    pane.remove();
    panes.delete(key);
  }
  facts.panes.forEach((row) => {
    if (panes.has(row.key)) panes.get(row.key).update(row);
    else panes.set(row.key, new Pane(row, { onToggle: toggleLarge }));
    const pane = panes.get(row.key);
    if (facts.textClosedBy) pane.showClosed(facts.textClosedBy);
  });
  arrange(facts.panes.map((row) => panes.get(row.key).element));
  listOthers(facts.others);
  showSummary(facts);
  if (isAwaited && panes.has(wanted)) showPane(panes.get(wanted));
}

/** Lists the panes that do not fit. An open list is not touched while nothing changes. */
function listOthers(rows) {
  const options = [["", "more panes …"], ...rows.map((row) => [row.key, `${row.place} ${row.command}`])];
  if (options.map(String).join() === [...others.options].map((each) => `${each.value},${each.text}`).join()) return;
  others.replaceChildren(...options.map(([key, text]) => new Option(text, key)));
  others.hidden = rows.length === 0;
}

/** Shows a pane in place of the one that was not used for the longest time. */
function bringIn(key) {
  wanted = key;
  isAwaited = true;
  connect();
}

/** Puts the panes into tmux's order; those in the right place are not touched. */
function arrange(elements) {
  elements.forEach((element, at) => {
    if (container.children[at] !== element) container.insertBefore(element, container.children[at] ?? null);
  });
}

/** Shows a message for a moment. */
function showNotice(text) {
  setStatus(text);
  setTimeout(() => overview && showSummary(overview), NOTICE_MS);
}

function showSummary(facts) {
  overview = facts;
  if (facts.closedBy) return setStatus(`Panes are not shown: ${facts.closedBy}.`, true);
  const problems = facts.servers.filter((row) => row.problem).map((row) => `${row.name}: ${row.problem}`);
  const count = `${facts.panes.length} ${facts.panes.length === 1 ? "pane" : "panes"}`;
  const hidden = facts.hidden ? `, ${facts.hidden} that no agent uses ${facts.hidden === 1 ? "is" : "are"} hidden` : "";
  const more = facts.more ? `, ${facts.more} more do not fit` : "";
  setStatus([`${count}${hidden}${more}`, ...problems].join(" · "), problems.length > 0);
}

function passToPane(action, facts) {
  const pane = panes.get(facts.key);
  if (!pane) return;
  pane.enqueue(action, facts);
  if (pane.waiting > MOST_WAITING) connect(); // the browser is too slow: start again with the current screens
}

function toggleLarge(pane) {
  const isLarge = !pane.isLarge;
  panes.forEach((other) => other.enlarge(other === pane && isLarge));
  pane.bar.focus();
}

/** Returns the shown panes of a call. */
function panesOf(entry) {
  const isMeant = ({ server, id }, row) => row.server === server && row.id === id;
  return entry.panes.flatMap((place) => [...panes.values()].filter((pane) => isMeant(place, pane.row)));
}

/** Shows the pane of a call. */
function showPaneOf(entry) {
  const [pane] = panesOf(entry);
  if (pane) return showPane(pane);
  const other = overview?.others.find((row) => entry.panes.some(({ server, id }) => row.server === server && row.id === id));
  if (other) return bringIn(other.key);
  const names = entry.panes.map(({ id }) => id).join(" ");
  showNotice(names ? `${names} is gone or not shown.` : "That call was for no pane.");
}

/** Scrolls to a pane, and enlarges it if another one is large. */
function showPane(pane) {
  isAwaited = false;
  if (!pane.isLarge && [...panes.values()].some((other) => other.isLarge)) toggleLarge(pane);
  pane.element.scrollIntoView({ block: "nearest", behavior: "smooth" });
  pane.bar.focus({ preventScroll: true });
  pane.flash();
}

addEventListener("keydown", (event) => {
  const large = [...panes.values()].find((pane) => pane.isLarge);
  if (event.key === "Escape" && large) toggleLarge(large);
});
all.addEventListener("change", connect);
others.addEventListener("change", () => others.value && bringIn(others.value));
// Browsers draw hidden pages slowly: a stream would only pile up there.
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : connect()));
if (!document.hidden) connect();
