// Draw a screen as tmux describes it in a terminal, and compare it with what the terminal shows.

// Default style, margins, origin mode, insert mode and line wrap; line drawing as the second character set.
const DEFAULTS = "\x1b[m\x1b[r\x1b[?6l\x1b[4l\x1b[?7l\x1b)0\x0f";

/** Returns the sequences that draw the screen. Rows are drawn one by one, so that nothing scrolls. */
export function drawScreen(screen) {
  const rows = screen.lines.map((line, at) => `\x1b[${at + 1};1H\x1b[2K${line}\x1b[m\x0f`);
  return [
    screen.is_first ? startTerminal(screen) : "",
    `\x1b[?1047${screen.alternate ? "h" : "l"}`,
    DEFAULTS,
    ...rows,
    `\x1b[${screen.top + 1};${screen.bottom + 1}r`,
    screen.origin ? "\x1b[?6h" : "",
    screen.insert ? "\x1b[4h" : "",
    screen.wrap ? "\x1b[?7h" : "",
    `\x1b[${screen.y + 1 - (screen.origin ? screen.top : 0)};${screen.x + 1}H`,
    `\x1b[?25${screen.cursor ? "h" : "l"}`,
  ].join("");
}

/** Returns the sequences that reset a terminal and scroll the lines above the screen into its history. */
function startTerminal(screen) {
  const above = screen.history;
  if (above.length === 0) return "\x1bc";
  return `\x1bc${DEFAULTS}${above.join("\x1b[m\x0f\r\n")}\x1b[m\x0f${"\r\n".repeat(screen.rows)}`;
}

/** Whether a terminal shows this text, size and cursor already. */
export function isShown(terminal, screen) {
  const buffer = terminal.buffer.active;
  const column = (x) => Math.min(x, screen.columns - 1);
  return (
    terminal.cols === screen.columns &&
    terminal.rows === screen.rows &&
    (buffer.type === "alternate") === screen.alternate &&
    buffer.cursorY === screen.y &&
    column(buffer.cursorX) === column(screen.x) &&
    screen.lines.every((line, at) => textAt(buffer, at) === withoutStyle(line))
  );
}

function textAt(buffer, row) {
  return buffer.getLine(buffer.baseY + row)?.translateToString(true).trimEnd() ?? "";
}

function withoutStyle(line) {
  return line.replace(/\x1b\[[0-9;:]*m|[\x0e\x0f]/g, "").trimEnd();
}
