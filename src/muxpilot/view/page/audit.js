// The audit log: the calls of agents, the newest first.

const MOST_ENTRIES = 300;
const list = document.getElementById("audit");
const note = document.getElementById("audit-note");
const template = document.getElementById("entry").content.firstElementChild;

export function clear() {
  list.replaceChildren();
}

/** Adds entries at the top; `onChoose` is called when a person clicks one. */
export function addEntries({ entries, problem }, { onChoose }) {
  note.hidden = problem === null && (entries.length > 0 || list.childElementCount > 0);
  note.textContent = problem ?? "No calls yet.";
  list.prepend(...entries.map((entry) => createRow(entry, onChoose)).reverse());
  while (list.childElementCount > MOST_ENTRIES) list.lastElementChild.remove();
}

/** Everything is set as text, never as HTML: agents and programs choose it. */
function createRow(entry, onChoose) {
  const element = template.cloneNode(true);
  const setText = (name, text) => (element.querySelector(name).textContent = text);
  const at = new Date(entry.at);
  setText("time", isNaN(at) ? entry.at : at.toLocaleTimeString([], { hour12: false }));
  setText(".tool", entry.tool);
  setText(".pane", entry.panes.map((pane) => pane.id).join(" "));
  setText(".outcome", entry.ok ? "ok" : entry.error || "failed");
  setText(".ms", formatDuration(entry.ms));
  setText(".about", entry.ok ? entry.about : [entry.about, entry.reason].filter(Boolean).join(" — "));
  element.querySelector(".outcome").classList.toggle("bad", !entry.ok);
  element.querySelector("button").addEventListener("click", () => onChoose(entry));
  return element;
}

function formatDuration(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
