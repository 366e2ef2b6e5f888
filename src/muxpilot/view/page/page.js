// The page: one stream of events from muxpilot, and nothing that goes back to it.

import { Pane } from "./pane.js";
import * as trail from "./trail.js";

const MOST_WAITING = 200;
const AGAIN_MS = 3000;
const panes = new Map();
const place = document.getElementById("panes");
const state = document.getElementById("state");
const all = document.getElementById("all");
const others = document.getElementById("others");
let source = null;
let isFresh = true;
let last = null;
let wanted = null; // the key of a pane that shall be among those shown
let isAwaited = false;

function connect() {
  source?.close();
  panes.forEach((pane) => pane.forget());
  isFresh = true;
  const query = new URLSearchParams({ ...(all.checked && { all: "" }), ...(wanted && { pane: wanted }) });
  source = new EventSource(`events?${query}`);
  source.addEventListener("open", () => ((isFresh = true), trail.clear()));
  source.addEventListener("error", lost);
  hear("scene", scene);
  hear("data", (facts) => told("data", facts));
  hear("screen", (facts) => told("draw", facts));
  hear("trail", (facts) => {
    trail.tell(facts, { chosen });
    if (!isFresh) facts.entries.flatMap(of).forEach((pane) => pane.used());
    isFresh = false;
  });
}

function hear(name, listener) {
  source.addEventListener(name, (event) => listener(JSON.parse(event.data)));
}

async function lost() {
  const ended = source;
  if (ended.readyState !== EventSource.CLOSED) return say("Connection lost; trying again …", true);
  const words = await refusal(ended.url);
  if (ended !== source) return;
  say(words ?? "muxpilot view has ended. Start it again, and open its new address.", true);
  if (words) setTimeout(() => ended === source && !document.hidden && connect(), AGAIN_MS);
}

/** Why there is no stream for now, which browsers do not tell; null where there will be none. */
async function refusal(address) {
  const enough = new AbortController();
  try {
    const answer = await fetch(address, { signal: enough.signal });
    if (answer.ok) return "Connecting …";
    return answer.status === 503 ? (await answer.text()).trim() : null;
  } catch {
    return null;
  } finally {
    enough.abort();
  }
}

function say(text, isBad = false) {
  state.textContent = text;
  state.classList.toggle("bad", isBad);
}

function scene(facts) {
  const known = new Set(facts.panes.map((row) => row.key));
  for (const [key, pane] of panes) {
    if (known.has(key)) continue;
    pane.remove();
    panes.delete(key);
  }
  facts.panes.forEach((row) => {
    if (panes.has(row.key)) panes.get(row.key).tell(row);
    else panes.set(row.key, new Pane(row, { toggled }));
    const pane = panes.get(row.key);
    if (facts.textClosedBy) pane.closed(facts.textClosedBy);
  });
  arrange(facts.panes.map((row) => panes.get(row.key).element));
  name(facts.others);
  summary(facts);
  if (isAwaited && panes.has(wanted)) show(panes.get(wanted));
}

/** The panes that do not fit. A list that is open stays as it is while nothing changes. */
function name(rows) {
  const options = [["", "more panes …"], ...rows.map((row) => [row.key, `${row.place} ${row.command}`])];
  if (options.map(String).join() === [...others.options].map((each) => `${each.value},${each.text}`).join()) return;
  others.replaceChildren(...options.map(([key, text]) => new Option(text, key)));
  others.hidden = rows.length === 0;
}

/** Has a pane shown in place of the one that was not used for the longest time. */
function bring(key) {
  wanted = key;
  isAwaited = true;
  connect();
}

/** In tmux's order; what is in its place is not touched. */
function arrange(elements) {
  elements.forEach((element, at) => {
    if (place.children[at] !== element) place.insertBefore(element, place.children[at] ?? null);
  });
}

/** A word in between. */
function passing(text) {
  say(text);
  setTimeout(() => last && summary(last), 3000);
}

function summary(facts) {
  last = facts;
  if (facts.closedBy) return say(`Panes are not shown: ${facts.closedBy}.`, true);
  const problems = facts.servers.filter((row) => row.problem).map((row) => `${row.name}: ${row.problem}`);
  const count = `${facts.panes.length} ${facts.panes.length === 1 ? "pane" : "panes"}`;
  const hidden = facts.hidden ? `, ${facts.hidden} that no agent uses ${facts.hidden === 1 ? "is" : "are"} hidden` : "";
  const more = facts.more ? `, ${facts.more} more do not fit` : "";
  say([`${count}${hidden}${more}`, ...problems].join(" · "), problems.length > 0);
}

function told(what, facts) {
  const pane = panes.get(facts.key);
  if (!pane) return;
  pane.take(what, facts);
  if (pane.waiting > MOST_WAITING) connect(); // too slow for all of this: begin with what is there now
}

function toggled(pane) {
  const isLarge = !pane.isLarge;
  panes.forEach((other) => other.enlarge(other === pane && isLarge));
  pane.bar.focus();
}

/** The panes of a call that are shown. */
function of(entry) {
  const isMeant = ({ server, id }, row) => row.server === server && row.id === id;
  return entry.panes.flatMap((place) => [...panes.values()].filter((pane) => isMeant(place, pane.row)));
}

/** Shows the pane of a call. */
function chosen(entry) {
  const [pane] = of(entry);
  if (pane) return show(pane);
  const other = last?.others.find((row) => entry.panes.some(({ server, id }) => row.server === server && row.id === id));
  if (other) return bring(other.key);
  const names = entry.panes.map(({ id }) => id).join(" ");
  passing(names ? `${names} is not here, or not shown.` : "That call was for no pane.");
}

/** Large, if another one is. */
function show(pane) {
  isAwaited = false;
  if (!pane.isLarge && [...panes.values()].some((other) => other.isLarge)) toggled(pane);
  pane.element.scrollIntoView({ block: "nearest", behavior: "smooth" });
  pane.bar.focus({ preventScroll: true });
  pane.used();
}

addEventListener("keydown", (event) => {
  const large = [...panes.values()].find((pane) => pane.isLarge);
  if (event.key === "Escape" && large) toggled(large);
});
all.addEventListener("change", connect);
others.addEventListener("change", () => others.value && bring(others.value));
// A page that nobody sees draws slowly: it would only gather what it cannot show.
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : connect()));
if (!document.hidden) connect();
