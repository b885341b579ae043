/* What the browser keeps for the reader. A closed storage is no error: then nothing is remembered. */

export function recall(key, otherwise = "", store = "localStorage") {
  try {
    return window[store].getItem(key) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(key, value, store = "localStorage") {
  try {
    if (value) window[store].setItem(key, value);
    else window[store].removeItem(key);
  } catch { /* see above */ }
}
