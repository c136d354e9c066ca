// How a state stands in an address: each of its fields read from a word and written as one, what is at its default left out.

/**
 * A field: `none` is its default, and what a word that cannot be read comes to.
 * @template T @typedef {{none: T, read: (word: string) => T, write: (value: T) => string}} Field
 */
/** @template State @typedef {{[name in keyof State]: Field<any>}} Fields */

/** @type {Field<string|null>} */
export const anyText = { none: null, read: (word) => word, write: String }

/** @type {Field<string|null>} */
export const someText = { ...anyText, read: (word) => word || null }

/** @type {Field<number|null>} */
export const whole = { none: null, read: (word) => (/^\d{1,7}$/.test(word) ? Number(word) : null), write: String }

/** One of these names, the first where none is written. @template {string} Name @param {readonly Name[]} names @param {Name} [none] @returns {Field<Name>} */
export const oneOf = (names, none = names[0]) => ({ none, read: (word) => names.find((name) => name === word) ?? none, write: String })

/** Yes or no, written only where it is not what it is by default. @param {boolean} none @returns {Field<boolean>} */
export const flag = (none) => ({ none, read: (word) => (word === (none ? '0' : '1') ? !none : none), write: (on) => (on ? '1' : '0') })

/** @type {Field<"light"|"dark"|null>} */
const theme = { none: null, read: (word) => (word === 'light' || word === 'dark' ? word : null), write: String }

/** What every page over a run has: the model, its text, the head and the cell, and whether weight times value is drawn. */
export const OF_RUN = { model: someText, text: anyText, site: whole, layer: whole, head: whole, i: whole, j: whole, values: flag(false) }

/** @template State @param {Fields<State>} fields those beside OF_RUN and the theme, which stands last */
export function spelling(fields) {
  const every = /** @type {[string, Field<any>][]} */ (Object.entries({ ...OF_RUN, ...fields, theme }))
  return {
    /** Every field at its default. */
    empty: /** @type {Readonly<State>} */ (Object.freeze(Object.fromEntries(every.map(([name, { none }]) => [name, none])))),

    /** What cannot be read is left at its default: an old or mistyped link still opens. @param {string} search @returns {State} */
    parse(search) {
      const query = new URLSearchParams(search)
      const read = every.map(([name, field]) => [name, query.has(name) ? field.read(query.get(name) ?? '') : field.none])
      return /** @type {State} */ (Object.fromEntries(read))
    },

    /** @param {State} state @returns {string} "?model=…", without what is at its default */
    format(state) {
      const values = /** @type {Record<string, any>} */ (state)
      const query = new URLSearchParams(every.filter(([name, { none }]) => values[name] !== none).map(([name, field]) => [name, field.write(values[name])]))
      const text = query.toString()
      return text ? '?' + text : ''
    },
  }
}

/** What of one page's address holds on another: the run, the head, the cell, which picture of it and the theme. @param {string} search @returns {string} "?model=…" or "" */
export function carried(search) {
  const { parse, format } = spelling({})
  return format(parse(search))
}
