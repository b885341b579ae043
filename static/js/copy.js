/* Copies text, and says so on the button that was pressed. */

const SAID_FOR_MS = 1800;

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch { /* plain http has no clipboard: the old way below */ }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr-only";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function said(button, words) {
  const label = button.querySelector("[data-label]") ?? button;
  const before = label.dataset.before ?? label.textContent;
  label.dataset.before = before;
  label.textContent = words;
  setTimeout(() => { label.textContent = before; }, SAID_FOR_MS);
}

/** A button with `data-copy="ID"` copies the text of that element. */
export function copyButton(button) {
  button.addEventListener("click", async () => {
    await copy(document.getElementById(button.dataset.copy).textContent.trim());
    said(button, button.dataset.done ?? "Copied");
  });
}
