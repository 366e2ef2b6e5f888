// Open questions of agents, and the person's answers. Answers need the code that the terminal shows.

const KEY = "muxpilot-key"; // kept for this tab, and for this port alone
const section = document.getElementById("questions");
const heading = document.getElementById("questions-title");
const state = document.getElementById("questions-state");
const unlock = document.getElementById("unlock");
const code = document.getElementById("code");
const codeProblem = document.getElementById("code-problem");
const list = document.getElementById("question-list");
const template = document.getElementById("question").content.firstElementChild;
const title = document.title;
const shown = new Map();
let onUnlock = () => {};

export const isUnlocked = () => sessionStorage.getItem(KEY) !== null;

/** Calls a function each time the right code was given. */
export function whenUnlocked(listener) {
  onUnlock = listener;
}

/** Asks the server for something; the key says that this tab has given the code. */
export function request(path, options = {}) {
  const headers = { "x-muxpilot-key": sessionStorage.getItem(KEY) ?? "", ...options.headers };
  return fetch(`../ask/${path}`, { ...options, headers, credentials: "same-origin" });
}

/** Shows these questions. Those that are there already are not touched: a person may be typing an answer. */
export function showQuestions(questions) {
  const known = new Set(questions.map((row) => row.id));
  for (const id of [...shown.keys()]) if (!known.has(id)) remove(id);
  questions.filter((row) => !shown.has(row.id)).forEach(add);
  const count = questions.length;
  const words = count === 0 ? "No open questions." : `${count} open ${count === 1 ? "question" : "questions"}`;
  if (state.textContent !== words) state.textContent = words;
  document.title = count === 0 ? title : `(${count}) ${title}`;
  section.classList.toggle("waiting", count > 0);
  showLock();
}

/** Removes a question. The focus goes to the next one if it was in this one. */
function remove(id) {
  const element = shown.get(id);
  if (element === undefined) return;
  // A button loses the focus when it is disabled, so a question that is being answered counts as focused.
  const hadFocus = element.ariaBusy === "true" || element.contains(document.activeElement);
  shown.delete(id);
  element.remove();
  if (hadFocus) focusNext();
}

/** Shows the form for the code, or the means to answer. */
function showLock() {
  section.classList.toggle("locked", !isUnlocked());
}

/** Everything is set as text, never as HTML: agents choose it. */
function add(row) {
  const element = template.cloneNode(true);
  const find = (name) => element.querySelector(name);
  const about = row.pane ? `, about pane ${row.pane}` : "";
  find(".who").textContent = `${row.asker} (workspace ${row.workspace}) asks${about}`;
  find(".who").id = `who-${row.id}`;
  find(".words").id = `words-${row.id}`;
  element.setAttribute("aria-labelledby", `who-${row.id}`);
  element.setAttribute("aria-describedby", `words-${row.id}`);
  find(".why").textContent = `Why: ${row.reason}`;
  find(".words").textContent = row.text;
  find(".no").addEventListener("click", () => settle(row, element, { decline: true }));
  if (row.choices.length > 0) addChoices(row, element, find);
  else addField(row, element, find);
  shown.set(row.id, element);
  list.append(element);
}

function addChoices(row, element, find) {
  find(".reply").remove();
  row.choices.forEach((text, choice) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => settle(row, element, { choice }));
    find(".choices").append(button);
  });
}

function addField(row, element, find) {
  find(".choices").remove();
  const field = find("input");
  field.type = row.isSecret ? "password" : "text";
  find(".name").textContent = row.isSecret ? `Secret. It is typed into pane ${row.pane}, and shown nowhere` : "Your answer";
  find(".reply").addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = field.value;
    if (row.isSecret) field.value = "";
    settle(row, element, { answer });
  });
}

async function settle(row, element, answer) {
  const problem = element.querySelector(".problem");
  const buttons = [...element.querySelectorAll("button")];
  const focused = document.activeElement;
  const setBusy = (isBusy) => {
    element.ariaBusy = String(isBusy);
    buttons.forEach((button) => (button.disabled = isBusy));
  };
  setBusy(true);
  problem.textContent = await send("answer", { id: row.id, ...answer });
  if (problem.textContent) {
    setBusy(false);
    return focused.focus();
  }
  state.textContent = answer.decline ? "Declined." : "Answered.";
  remove(row.id); // unless the list of open questions came first and has removed it
}

/** Sends something, and returns what went wrong; an empty text if nothing did. */
async function send(path, body) {
  try {
    const headers = { "content-type": "application/json" };
    const answer = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.ok) {
      const facts = await answer.json();
      if (facts.key) sessionStorage.setItem(KEY, facts.key);
      return facts.problem;
    }
    if (answer.status === 403 && path === "answer") lock();
    return (await answer.text()).trim();
  } catch {
    return "muxpilot view does not answer.";
  }
}

/** Asks for the code again: the server does not know this tab any more. */
export function lock() {
  sessionStorage.removeItem(KEY);
  showLock();
}

function focusNext() {
  const [next] = shown.values();
  (next?.querySelector(".who") ?? heading).focus();
}

unlock.addEventListener("submit", async (event) => {
  event.preventDefault();
  codeProblem.textContent = await send("code", { code: code.value });
  code.value = "";
  showLock();
  if (codeProblem.textContent) return code.focus();
  onUnlock();
  focusNext();
});
showLock();
