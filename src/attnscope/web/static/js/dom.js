// Building elements without HTML strings: text stays text, and styles go through the CSSOM, which the page's policy allows.

/** @typedef {Node|string|number|null|undefined|false} Child */
/** @typedef {Record<string, any>} Props */

/** An element that the page is known to have. @param {string} id */
export const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

const SVG = 'http://www.w3.org/2000/svg'

/**
 * h('button', {class: 'btn', onclick: run, 'aria-label': 'Run'}, 'Run')
 * Functions become listeners, `style` is an object of CSS properties, null and false leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Props} [props] @param {...Child} children @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag)
  fill(el, props, children)
  return el
}

/** The same for SVG. @param {string} tag @param {Props} [props] @param {...Child} children */
export function s(tag, props = {}, ...children) {
  const el = document.createElementNS(SVG, tag)
  fill(el, props, children)
  return el
}

/** A 14 px line icon. @param {string[]} paths */
export function icon(...paths) {
  return s('svg', { class: 'ico', viewBox: '0 0 14 14', 'aria-hidden': 'true' }, ...paths.map((d) => s('path', { d })))
}

/** Replaces all children. @param {Element} el @param {...Child} children */
export function put(el, ...children) {
  el.replaceChildren(...children.filter(shown).map((child) => (child instanceof Node ? child : String(child))))
}

/** Sets a text only where it differs, so that screen readers and selections are left in peace. @param {Node} el @param {string} text */
export function say(el, text) {
  if (el.textContent !== text) el.textContent = text
}

/** @param {HTMLElement|SVGElement} el @param {Record<string, string|number>} style numbers are px */
export function css(el, style) {
  for (const [name, value] of Object.entries(style)) el.style.setProperty(name, typeof value === 'number' ? `${value}px` : value)
}

/** @param {Element} el @param {string} name @param {string|boolean|number|null} value */
export function attr(el, name, value) {
  if (value === null) el.removeAttribute(name)
  else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, String(value))
}

/**
 * Makes buttons able to be pressed, or not. One that goes out while it has the focus hands it to another: the key pressed next is not to go astray.
 * @param {...[button: HTMLButtonElement, able: boolean, next: HTMLButtonElement]} states next: the button that takes the focus
 */
export function enable(...states) {
  for (const [button, able] of states) if (able) button.disabled = false
  for (const [button, able, next] of states) {
    const focused = button === document.activeElement
    button.disabled = !able
    if (focused && !able) next.focus()
  }
}

/** @param {HTMLElement|SVGElement} el @param {Props} props @param {Child[]} children */
function fill(el, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') el.addEventListener(name.replace(/^on/, ''), value)
    else if (name === 'style') css(el, value)
    else if (value === true) el.setAttribute(name, '')
    else if (value !== null && value !== undefined && value !== false) el.setAttribute(name, String(value))
  }
  for (const child of children) if (shown(child)) el.append(child instanceof Node ? child : String(child))
}

/** @param {Child} child @returns {child is Node|string|number} */
function shown(child) {
  return child !== null && child !== undefined && child !== false
}
