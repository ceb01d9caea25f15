// The page: theme, sections, deep links, keys.

const sections = new Map();
let current = null;

// Build a section when it is first shown: a page of several journals opens as fast as a page of one.
function sectionOf(root) {
  let section = sections.get(root.id);
  if (!section) {
    const run = new Run(root);
    section = { root, run, list: new EventList(run, root) };
    if (root.querySelector(".timeline")) new Timeline(run, root);
    if (root.querySelector(".talk")) startTalk(run, root);
    sections.set(root.id, section);
  }
  return section;
}

function show(root) {
  for (const other of document.querySelectorAll("section.run")) other.hidden = other !== root;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${root.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  current = sectionOf(root);
}

// #e12 is event 12 of the first section, #s2e12 of the second; #s2 is the second section.
function follow(hash) {
  const found = /^(?:#(?:s(\d+))?(?:e(\d+))?)?$/.exec(hash);
  if (!found && current) return; // a link to something else on the page
  const number = found?.[1] ?? "1";
  const root = document.getElementById(`s${number}`) ?? document.querySelector("section.run");
  if (!root) return;
  show(root);
  if (found?.[2]) current.list.reveal(Number(found[2]));
}

function rememberHash(id) {
  try {
    history.replaceState(null, "", `#${id}`);
  } catch {
    // some viewers of local files do not allow it; the page works without
  }
}

function startTheme() {
  const button = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = stored("soundstage-theme");
  const apply = () => {
    const isDark = chosen ? chosen === "dark" : dark.matches;
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(isDark));
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    store("soundstage-theme", chosen);
    apply();
  });
  dark.addEventListener("change", apply);
  apply();
}

// Storage is refused in some viewers; the theme then lasts as long as the page.
function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // see above
  }
}

const KEYS = {
  "/": () => current.list.search.focus(),
  j: () => current.list.step(1),
  k: () => current.list.step(-1),
  "?": () => document.getElementById("keys").showModal(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !current) return;
  const target = event.target;
  if (event.key === "Escape" && target === current.list.search) {
    current.list.clearSearch();
    target.blur();
    return;
  }
  if (target.matches("input:not([type=checkbox]), select, textarea") || target.closest("dialog")) return;
  if (event.key === "Escape") current.list.clear();
  const action = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
}

startTheme();
document.addEventListener("keydown", pressed);
document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
window.addEventListener("hashchange", () => follow(location.hash));
window.addEventListener("beforeprint", () => current?.list.fillAll());
document.addEventListener("click", (event) => {
  // a second click on a link to the same event goes there again
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === location.hash) follow(link.hash);
});
follow(location.hash);
