// Small helpers for building the page.  Text is always inserted as text: no string ever becomes markup.

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const byId = (id) => document.getElementById(id);

const count = (number) => number.toLocaleString("en-US");
const percent = (share, digits = 1) => (share === null ? "–" : `${(100 * share).toFixed(digits)} %`);
/** A probability: none is certain, so none is shown as 0 or 100 %. */
const probability = (share) =>
  ({ "100 %": "over 99 %", "0 %": "under 1 %" }[percent(share, 0)] ?? percent(share, 0)).replaceAll(" ", "\u00a0");
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const signed = (number) => (number === 0 ? "0" : number < 0 ? `−${count(-number)}` : `+${count(number)}`);

/** A number of any size in a few characters. */
function short(number) {
  if (number === null) return "–";
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return count(number);
  return Math.abs(number) >= 1e6 ? number.toExponential(2) : String(Number(number.toPrecision(4)));
}

/** "a", "a and b", "a, b and c"; only the first few of a long list. */
function listed(names, most = 6) {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} others`] : names;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

/** Whether column headings need too much room unless they are set vertically. */
const needsUpright = (labels) => labels.join("").length > Math.max(16, 2 * labels.length);

/** A table from headings and rows of cells, each text or an element; the first column names the rows. */
function table(caption, headings, rows) {
  const head = headings.map((text) => make("th", { scope: "col" }, text));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell, i) => make(i ? "td" : "th", i ? {} : { scope: "row" }, cell))),
  );
  return make(
    "table",
    { class: "numbers" },
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
}

/** A part of the page that scrolls sideways where it is narrow; then keys can scroll it, too. */
function scrolling(name, ...children) {
  const holder = make("div", { class: "wide", role: "group", "aria-label": name });
  const sizes = new ResizeObserver(() => {
    if (holder.scrollWidth > holder.clientWidth || holder.scrollHeight > holder.clientHeight) holder.tabIndex = 0;
    else holder.removeAttribute("tabindex");
  });
  sizes.observe(holder);
  new MutationObserver(() => {
    for (const child of holder.children) sizes.observe(child);
  }).observe(holder, { childList: true });
  holder.append(...children.filter((child) => child !== null));
  return holder;
}

const AHEAD = { ArrowRight: 1, ArrowLeft: -1 };
const DOWN = { ArrowDown: 1, ArrowUp: -1 };

/**
 * One tab stop for many controls, among which the arrow keys, Home and End move.  Gives a function to call when the
 * controls are others.
 */
function roving(holder, selector) {
  let current = null;
  const items = () => [...holder.querySelectorAll(selector)];
  const stop = (item) => {
    current = item;
    for (const each of items()) each.tabIndex = each === item ? 0 : -1;
  };
  holder.addEventListener("focusin", (event) => {
    const item = event.target.closest(selector);
    if (item !== null) stop(item);
  });
  holder.addEventListener("keydown", (event) => {
    if (event.target !== current) return;
    const all = items();
    const place = all.indexOf(current);
    const next =
      event.key in AHEAD
        ? all[place + AHEAD[event.key]]
        : event.key in DOWN
          ? nearest(all, current, DOWN[event.key])
          : event.key === "Home"
            ? all[0]
            : event.key === "End"
              ? all[all.length - 1]
              : null;
    if (next === null) return;
    event.preventDefault();
    next?.focus();
  });
  return () => stop(holder.contains(current) ? current : (items()[0] ?? null));
}

/** The nearest item in the next row on the screen, 1 for below and -1 for above; undefined if there is none. */
function nearest(items, from, way) {
  const middle = (item) => {
    const box = item.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [x, y] = middle(from);
  const ahead = items
    .map((item) => ({ item, at: middle(item) }))
    .filter(({ at }) => way * (at[1] - y) > from.offsetHeight / 2);
  const row = Math.min(...ahead.map(({ at }) => way * at[1]));
  const inRow = ahead.filter(({ at }) => way * at[1] < row + from.offsetHeight / 2);
  return inRow.sort((a, b) => Math.abs(a.at[0] - x) - Math.abs(b.at[0] - x))[0]?.item;
}

/** A bar from 0 to a share of the width. */
function bar(share, kind = "") {
  const element = make("span", { class: `bar ${kind}`, "aria-hidden": "true" });
  element.style.setProperty("--share", share);
  return element;
}

/** The page's colours as [red, green, blue]; they differ between light and dark. */
let knownPalette = null;
const forgetPalette = () => (knownPalette = null);
const palette = () => (knownPalette ??= readPalette());

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["plus", "minus", "zero", "card", "ink"];
  const parse = (text) => [1, 3, 5].map((start) => parseInt(text.trim().slice(start, start + 2), 16));
  return Object.fromEntries(names.map((name) => [name, parse(style.getPropertyValue(`--${name}`))]));
}

const mixed = (from, to, share) => from.map((value, i) => Math.round(value + (to[i] - value) * share));
const css = (colour) => `rgb(${colour.join(" ")})`;

/** Colour of a value in -1..1: blue below zero, orange above. */
function diverging(colours, value) {
  return mixed(colours.zero, value < 0 ? colours.minus : colours.plus, Math.abs(value));
}

const LONG_BEGINNING = 6;

/** Names without the beginning that all of them share, if it is long: where room is short, the ends tell them apart. */
function ends(names) {
  let same = 0;
  const first = names[0] ?? "";
  while (same < first.length && names.every((name) => name[same] === first[same])) same++;
  return names.length < 2 || same < LONG_BEGINNING ? names : names.map((name) => `…${name.slice(same)}`);
}
