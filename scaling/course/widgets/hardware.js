// My hardware: what the reader serves with, kept in the browser.
/** @typedef {{chip: string, chips: number, model: string, price: number | null}} Hardware */

export const KEY = "scaling/hardware";

/**
 * What is stored, if it is a hardware of ours; else null.
 * @param {string | null} text
 * @returns {Hardware | null}
 */
export function parseHardware(text) {
  try {
    const { chip, chips, model, price } = JSON.parse(text ?? "null");
    const names = [chip, model].every((name) => typeof name === "string" && /^[\w.-]{1,60}$/.test(name));
    const counted = Number.isInteger(chips) && chips >= 1;
    if (!names || !counted) return null;
    return { chip, chips, model, price: Number.isFinite(price) && price > 0 ? price : null };
  } catch {
    return null;
  }
}

/** The stored hardware; null where there is none, or storage is switched off. */
export function hardware() {
  try {
    return parseHardware(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

/**
 * Keeps a position as the reader's hardware.
 * @param {{chip: string, chips: number, model: string}} at
 * @param {number | null} price
 */
export function keepHardware({ chip, chips, model }, price) {
  const mine = { chip: chip.replace(/_TEXT$/, ""), chips, model, price };
  localStorage.setItem(KEY, JSON.stringify(mine)); // where storage is off this throws, and the button says so
}

const plain = (/** @type {string} */ name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/**
 * Whether a record called `name` in `scaling` is what a page shows as `shown`.
 * @param {string} name
 * @param {string} shown
 */
export const same = (name, shown) => plain(shown).startsWith(plain(name));
