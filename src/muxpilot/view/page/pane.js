// One pane: a bar that tells of it, and a terminal of its real size, scaled to the room there is.

import { Terminal } from "./xterm/xterm.mjs";
import { isShown, picture } from "./screen.js";
import { THEMES } from "./themes.js";

const FONT = 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const LARGEST_SCALE = 1.5;
const EDGE = 12; // the frame's padding, both sides
const SCROLLBACK = 1000;
const STILL_MS = 3000;
const LEAST_CONTRAST = 3; // of text and its ground: no theme suits all pairs that programs choose

const light = matchMedia("(prefers-color-scheme: light)");
const theme = () => THEMES[light.matches ? "light" : "dark"];

export class Pane {
  constructor(row, { toggled }) {
    this.element = document.getElementById("pane").content.firstElementChild.cloneNode(true);
    this.frame = this.element.querySelector(".frame");
    this.screen = this.element.querySelector(".screen");
    this.bar = this.element.querySelector(".bar");
    this.bar.addEventListener("click", () => toggled(this));
    this.frame.addEventListener("click", () => this.isLarge || toggled(this));
    this.stream = 0;
    this.waiting = 0;
    this.work = Promise.resolve();
    this.skipped = 0;
    this.tell(row);
  }

  get isLarge() {
    return this.element.classList.contains("large");
  }

  /** What tmux knows of the pane. Everything is set as text: programs choose these words. */
  tell(row) {
    this.row = row;
    this.element.dataset.pane = row.id;
    this.element.classList.toggle("dead", row.dead);
    for (const name of ["place", "command"]) this.say(name, row[name]);
    const server = row.server === "default" ? "" : row.server;
    const window = row.window === row.command ? "" : row.window;
    this.say("title", [server, window, row.title].filter(Boolean).join(" · "));
    this.say("size", `${row.columns}×${row.rows}`);
    this.say("state", this.state());
    this.bar.title = `${row.place} ${row.id} ${row.window} ${row.path}`;
  }

  state() {
    if (this.row.dead) return this.row.exitCode === null ? "ended" : `ended (${this.row.exitCode})`;
    if (this.skipped) return `${size(this.skipped)} not drawn`;
    return this.row.inMode ? "scrolled back" : "";
  }

  say(name, text) {
    const part = this.element.querySelector(`.${name}`);
    if (part.textContent !== text) part.textContent = text;
  }

  /** Instead of a terminal, where the policy shows no text. */
  closed(rule) {
    if (this.frame.querySelector("p")) return;
    const words = document.createElement("p");
    words.textContent = `Its text is not shown: ${rule}.`;
    this.frame.replaceChildren(words);
  }

  /** One thing after the other: a comparison means nothing before all that came earlier is written. */
  take(what, facts) {
    const stream = this.stream;
    const isWanted = () => stream === this.stream && this.element.isConnected;
    this.waiting += 1;
    this.work = this.work
      .then(() => isWanted() && this[what](facts))
      .catch((error) => console.error(error))
      .finally(() => isWanted() && (this.waiting -= 1));
  }

  /** Another stream begins, which tells everything anew. */
  forget() {
    this.stream += 1;
    this.waiting = 0;
  }

  data(facts) {
    return this.write(facts.text);
  }

  async draw(facts) {
    if (facts.is_comparison && this.terminal && isShown(this.terminal, facts)) return;
    this.count(facts.skipped ?? 0);
    this.fit(facts.columns, facts.rows);
    await this.write(picture(facts));
  }

  write(text) {
    return new Promise((done) => (this.terminal ? this.terminal.write(text, done) : done()));
  }

  count(skipped) {
    if (!skipped) return;
    this.skipped += skipped;
    this.say("state", this.state());
    clearTimeout(this.still);
    this.still = setTimeout(() => {
      this.skipped = 0;
      this.say("state", this.state());
    }, STILL_MS);
  }

  fit(columns, rows) {
    if (!this.terminal) this.open(columns, rows);
    else if (this.terminal.cols !== columns || this.terminal.rows !== rows) this.terminal.resize(columns, rows);
    requestAnimationFrame(() => this.scale());
  }

  /** A terminal without a way in: no stdin, no keys, no links; what it would answer has no listener. */
  open(columns, rows) {
    this.terminal = new Terminal({
      cols: columns, rows, scrollback: SCROLLBACK, fontSize: 13, fontFamily: FONT, theme: theme(), minimumContrastRatio: LEAST_CONTRAST,
      disableStdin: true, cursorInactiveStyle: "block", linkHandler: null, windowOptions: {}, logLevel: "off",
    });
    this.terminal.open(this.screen);
    this.terminal.attachCustomKeyEventHandler(() => false);
    this.terminal.textarea.tabIndex = -1;
    this.terminal.textarea.readOnly = true;
    this.resized = new ResizeObserver(() => this.scale());
    this.resized.observe(this.frame);
    this.themed = () => (this.terminal.options.theme = theme());
    light.addEventListener("change", this.themed);
  }

  scale() {
    const [width, height] = [this.screen.offsetWidth, this.screen.offsetHeight];
    if (!width || !height) return;
    const wide = (this.frame.clientWidth - EDGE) / width;
    const tall = this.isLarge ? (this.frame.clientHeight - EDGE) / height : Infinity;
    const scale = Math.min(wide, tall, LARGEST_SCALE);
    this.screen.style.transform = `scale(${scale})`;
    this.screen.style.marginBottom = `${(scale - 1) * height}px`;
    this.screen.style.marginRight = `${(scale - 1) * width}px`;
  }

  enlarge(isLarge) {
    this.element.classList.toggle("large", isLarge);
    this.bar.setAttribute("aria-expanded", String(isLarge));
    this.scale();
    if (!isLarge) this.terminal?.scrollToBottom();
  }

  used() {
    this.element.classList.remove("used");
    requestAnimationFrame(() => this.element.classList.add("used"));
  }

  remove() {
    this.resized?.disconnect();
    if (this.themed) light.removeEventListener("change", this.themed);
    clearTimeout(this.still);
    this.terminal?.dispose();
    this.terminal = undefined;
    this.element.remove();
  }
}

function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
