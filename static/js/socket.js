/* The connection of a battle. It comes back by itself, and whoever listens gets a fresh snapshot each time. */

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8_000;
const PING_EVERY_MS = 25_000;
const SILENT_AFTER_MS = 10_000;
const LOGGED_OUT = 4401;
const NOT_YOURS = 4404;

export class Socket {
  /** `onFrame(frame)`, `onState("open" | "lost" | "refused")`. */
  constructor(path, { onFrame, onState }) {
    this.url = new URL(path, location.href);
    this.url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.onFrame = onFrame;
    this.onState = onState;
    this.wait = FIRST_WAIT_MS;
    this.early = []; // what was said before the first connection was there; null from then on
    this.open();
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.hurry(); });
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** False where there is no connection any more; what is said before there is one is sent as soon as there is. */
  send(frame) {
    if (this.early) return Boolean(this.early.push(frame));
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  open() {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT_MS;
      const early = this.early ?? [];
      this.early = null;
      for (const frame of early) this.send(frame);
      this.onState("open");
      this.pulse = setInterval(() => this.ping(), PING_EVERY_MS);
    });
    socket.addEventListener("message", (event) => {
      clearTimeout(this.silence);
      this.onFrame(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => { if (socket === this.socket) this.lost(event.code); });
  }

  /** A dead network may not close a socket; a ping without an answer tells. */
  ping() {
    if (!this.send({ type: "ping" })) return;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => { this.socket.close(); this.lost(0); }, SILENT_AFTER_MS);
  }

  lost(code) {
    clearInterval(this.pulse);
    clearTimeout(this.silence);
    this.socket = null;
    if (code === LOGGED_OUT) {
      location.reload();
      return;
    }
    if (code === NOT_YOURS) {
      this.onState("refused");
      return;
    }
    this.onState("lost");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
  }

  hurry() {
    if (this.socket) return;
    this.wait = FIRST_WAIT_MS;
    this.open();
  }
}
