/* Side by side, or one answer at a time: the switch, the steps, the tabs of a phone, and the swipe. */
import { fill } from "./figures.js";
import { recall, remember } from "./storage.js";

const SWIPE_PX = 60;

export class View {
  constructor(root, bar, sides) {
    this.root = root;
    this.bar = bar;
    this.labels = sides.map((side) => side.label);
    bar.hidden = false;
    bar.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.view) this.choose(button.dataset.view);
      if (button?.dataset.show) this.show(button.dataset.show);
      if (button?.dataset.step) this.step(Number(button.dataset.step));
    });
    this.swipe();
    this.choose(recall("battle-view") === "single" ? "single" : "pair");
    this.show(this.labels[0]);
  }

  get isSingle() {
    return this.root.dataset.view === "single" || matchMedia("(max-width: 52rem)").matches;
  }

  choose(view) {
    this.root.dataset.view = view;
    remember("battle-view", view);
    for (const button of this.bar.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === view));
    }
  }

  show(label) {
    this.root.dataset.shown = label;
    for (const button of this.bar.querySelectorAll("[data-show]")) {
      button.setAttribute("aria-pressed", String(button.dataset.show === label));
    }
    const place = this.bar.querySelector("[data-place]");
    place.textContent = fill(place.dataset.words, { place: this.labels.indexOf(label) + 1, all: this.labels.length });
    for (const button of this.bar.querySelectorAll("[data-step]")) {
      button.setAttribute("aria-disabled", String(!this.next(Number(button.dataset.step)))); // it keeps the focus
    }
  }

  next(by) {
    return this.labels[this.labels.indexOf(this.root.dataset.shown) + by];
  }

  step(by) {
    const label = this.next(by);
    if (label) this.show(label);
  }

  /** Names on the tabs, and a dot while a side that is not shown is being written. */
  render(sides, liveSides) {
    for (const side of sides) {
      const tab = this.bar.querySelector(`[data-show="${side.label}"]`);
      tab.querySelector("[data-tab-name]").textContent = side.name;
      tab.querySelector(".dot").hidden = !liveSides.includes(side.label);
    }
  }

  swipe() {
    let from = null;
    this.root.addEventListener("touchstart", (event) => {
      const isScrolled = event.target.closest("pre, .table, textarea, math");
      from = event.touches.length === 1 && !isScrolled ? event.touches[0] : null;
    }, { passive: true });
    this.root.addEventListener("touchend", (event) => {
      if (!from || !this.isSingle) return;
      const x = event.changedTouches[0].clientX - from.clientX;
      const y = event.changedTouches[0].clientY - from.clientY;
      if (Math.abs(x) > SWIPE_PX && Math.abs(x) > 2 * Math.abs(y)) this.step(x < 0 ? 1 : -1);
      from = null;
    }, { passive: true });
  }
}
