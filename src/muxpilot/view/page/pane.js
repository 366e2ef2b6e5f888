// One pane: a bar with its names, and a terminal of its real size, scaled to fit.

import { Terminal } from "./xterm/xterm.mjs";
import { drawScreen, isShown } from "./screen.js";
import { THEMES } from "./themes.js";

const FONT = 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const LARGEST_SCALE = 1.5;
const EDGE = 12; // padding of the frame on both sides
const SCROLLBACK = 1000;
const SKIP_NOTICE_MS = 3000;
const LEAST_CONTRAST = 3; // of text and background: no theme suits all pairs that programs choose

const light = matchMedia("(prefers-color-scheme: light)");
const theme = () => THEMES[light.matches ? "light" : "dark"];

export class Pane {
  constructor(row, { onToggle }) {
    this.element = document.getElementById("pane").content.firstElementChild.cloneNode(true);
    this.frame = this.element.querySelector(".frame");
    this.screen = this.element.querySelector(".screen");
    this.bar = this.element.querySelector(".bar");
    this.bar.addEventListener("click", () => onToggle(this));
    this.frame.addEventListener("click", () => this.isLarge || onToggle(this));
    this.stream = 0;
    this.waiting = 0;
    this.work = Promise.resolve();
    this.skipped = 0;
    this.update(row);
  }

  get isLarge() {
    return this.element.classList.contains("large");
  }

  /** Shows the names and the state of the pane. Everything is set as text: programs choose it. */
  update(row) {
    this.row = row;
    this.element.dataset.pane = row.id;
    this.element.classList.toggle("dead", row.dead);
    for (const name of ["place", "command"]) this.setText(name, row[name]);
    const server = row.server === "default" ? "" : row.server;
    const window = row.window === row.command ? "" : row.window;
    this.setText("title", [server, window, row.title].filter(Boolean).join(" · "));
    this.setText("size", `${row.columns}×${row.rows}`);
    this.setText("state", this.describeState());
    this.bar.title = `${row.place} ${row.id} ${row.window} ${row.path}`;
  }

  describeState() {
    if (this.row.dead) return this.row.exitCode === null ? "ended" : `ended (${this.row.exitCode})`;
    if (this.skipped) return `${formatSize(this.skipped)} not drawn`;
    return this.row.inMode ? "scrolled back" : "";
  }

  setText(name, text) {
    const part = this.element.querySelector(`.${name}`);
    if (part.textContent !== text) part.textContent = text;
  }

  /** Shows a message in place of the terminal: the policy forbids the text of panes. */
  showClosed(rule) {
    if (this.frame.querySelector("p")) return;
    const message = document.createElement("p");
    message.textContent = `Its text is not shown: ${rule}.`;
    this.frame.replaceChildren(message);
  }

  /** Runs actions one after another: a comparison is only valid when all earlier output is drawn. */
  enqueue(action, facts) {
    const stream = this.stream;
    const isWanted = () => stream === this.stream && this.element.isConnected;
    this.waiting += 1;
    this.work = this.work
      .then(() => isWanted() && this[action](facts))
      .catch((error) => console.error(error))
      .finally(() => isWanted() && (this.waiting -= 1));
  }

  /** Drops what is queued: a new stream begins, which sends everything again. */
  startStream() {
    this.stream += 1;
    this.waiting = 0;
  }

  write(facts) {
    return this.writeText(facts.text);
  }

  async draw(facts) {
    if (facts.is_comparison && this.terminal && isShown(this.terminal, facts)) return;
    this.countSkipped(facts.skipped ?? 0);
    this.fit(facts.columns, facts.rows);
    await this.writeText(drawScreen(facts));
  }

  writeText(text) {
    return new Promise((done) => (this.terminal ? this.terminal.write(text, done) : done()));
  }

  countSkipped(skipped) {
    if (!skipped) return;
    this.skipped += skipped;
    this.setText("state", this.describeState());
    clearTimeout(this.skipTimer);
    this.skipTimer = setTimeout(() => {
      this.skipped = 0;
      this.setText("state", this.describeState());
    }, SKIP_NOTICE_MS);
  }

  fit(columns, rows) {
    if (!this.terminal) this.open(columns, rows);
    else if (this.terminal.cols !== columns || this.terminal.rows !== rows) this.terminal.resize(columns, rows);
    requestAnimationFrame(() => this.scale());
  }

  /** Opens a terminal without input: no stdin, keys or links, and no listener for its answers. */
  open(columns, rows) {
    this.terminal = new Terminal({
      cols: columns, rows, scrollback: SCROLLBACK, fontSize: 13, fontFamily: FONT, theme: theme(), minimumContrastRatio: LEAST_CONTRAST,
      disableStdin: true, cursorInactiveStyle: "block", linkHandler: null, windowOptions: {}, logLevel: "off",
    });
    this.terminal.open(this.screen);
    this.terminal.attachCustomKeyEventHandler(() => false);
    this.terminal.textarea.tabIndex = -1;
    this.terminal.textarea.readOnly = true;
    this.resizeObserver = new ResizeObserver(() => this.scale());
    this.resizeObserver.observe(this.frame);
    this.updateTheme = () => (this.terminal.options.theme = theme());
    light.addEventListener("change", this.updateTheme);
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

  /** Highlights the pane for a moment. */
  flash() {
    this.element.classList.remove("used");
    requestAnimationFrame(() => this.element.classList.add("used"));
  }

  remove() {
    this.resizeObserver?.disconnect();
    if (this.updateTheme) light.removeEventListener("change", this.updateTheme);
    clearTimeout(this.skipTimer);
    this.terminal?.dispose();
    this.terminal = undefined;
    this.element.remove();
  }
}

function formatSize(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
