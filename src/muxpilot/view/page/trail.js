// The audit trail: what was asked, the newest first.

const MOST = 300;
const list = document.getElementById("trail");
const note = document.getElementById("trail-note");
const model = document.getElementById("entry").content.firstElementChild;

export function clear() {
  list.replaceChildren();
}

export function tell({ entries, problem }, { chosen }) {
  note.hidden = problem === null && (entries.length > 0 || list.childElementCount > 0);
  note.textContent = problem ?? "Nothing was asked yet.";
  list.prepend(...entries.map((entry) => row(entry, chosen)).reverse());
  while (list.childElementCount > MOST) list.lastElementChild.remove();
}

/** Everything is set as text: agents and programs choose these words. */
function row(entry, chosen) {
  const element = model.cloneNode(true);
  const say = (name, text) => (element.querySelector(name).textContent = text);
  const at = new Date(entry.at);
  say("time", isNaN(at) ? entry.at : at.toLocaleTimeString([], { hour12: false }));
  say(".tool", entry.tool);
  say(".pane", entry.panes.map((pane) => pane.id).join(" "));
  say(".outcome", entry.ok ? "ok" : entry.error || "failed");
  say(".ms", duration(entry.ms));
  say(".about", entry.ok ? entry.about : [entry.about, entry.reason].filter(Boolean).join(" — "));
  element.querySelector(".outcome").classList.toggle("bad", !entry.ok);
  element.querySelector("button").addEventListener("click", () => chosen(entry));
  return element;
}

function duration(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
