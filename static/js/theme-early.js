/* Runs before the first paint, so that a chosen theme does not flash. Not a module: those come too late. */
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch { /* storage is closed to us: the system's theme stands */ }
})();
