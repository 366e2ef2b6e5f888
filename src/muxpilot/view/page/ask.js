// The page for answers alone, whose address clients may show. Before the code is given, it knows no question.

import { isUnlocked, lock, request, showQuestions, whenUnlocked } from "./questions.js";

const PAUSE_MS = 1000;
const state = document.getElementById("questions-state");

async function update() {
  if (!isUnlocked() || document.hidden) return;
  try {
    const answer = await request("open");
    if (answer.ok) showQuestions((await answer.json()).questions);
    else if (answer.status === 403) lock();
  } catch {
    state.textContent = "muxpilot view does not answer.";
  }
}

whenUnlocked(update);
document.addEventListener("visibilitychange", update);
setInterval(update, PAUSE_MS);
update();
