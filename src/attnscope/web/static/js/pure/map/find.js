// "Go to": a position, a cell, or a text among the tokens.

/** @typedef {import("../../types.js").Token} Token */
/** Where a text begins and ends, among the keys or among the queries. @typedef {{side: "key"|"query", first: number, last: number}} Hit */
/** @typedef {{kind: "cell", i: number|null, j: number|null}|{kind: "text", hits: Hit[]}|{kind: "none", why: string}} Found */

/**
 * "98,304" is a query, "98,304 23,117" or "98304 → 23117" a cell, anything else a text.
 * @param {string} asked @param {{tq: number, tk: number, keys: Token[], queries: Token[]}} where keys, queries: their tokens; one list where both sides are one text
 * @returns {Found}
 */
export function find(asked, { tq, tk, keys, queries }) {
  const words = asked.trim()
  if (!words) return { kind: 'none', why: 'Type a position such as 1,200, a cell such as 1,200 40, or a piece of the text.' }
  const quoted = /^["“](.+?)["”]?$/s.exec(words)
  const numbers = quoted ? null : positions(words)
  if (numbers) {
    const [i, j = null] = numbers
    if (i >= tq) return { kind: 'none', why: `There is no query ${i.toLocaleString('en')}: the last is ${(tq - 1).toLocaleString('en')}.` }
    if (j !== null && j >= tk) return { kind: 'none', why: `There is no key ${j.toLocaleString('en')}: the last is ${(tk - 1).toLocaleString('en')}.` }
    return { kind: 'cell', i, j }
  }
  const text = quoted ? quoted[1] : words
  const of = (/** @type {"key"|"query"} */ side, /** @type {Token[]} */ tokens) => search(tokens, text).map((hit) => ({ side, ...hit }))
  const hits = [...of('key', keys), ...(queries === keys ? [] : of('query', queries))]
  return hits.length ? { kind: 'text', hits } : { kind: 'none', why: `“${words.slice(0, 40)}” is not in the text.` }
}

/** @param {string} words @returns {number[]|null} one or two positions */
function positions(words) {
  const parts = words.split(/\s*(?:→|->|;|\s|,(?!\d{3}(?:\D|$)))\s*/).filter(Boolean)
  if (parts.length < 1 || parts.length > 2) return null
  const read = parts.map((part) => (/^[ij]?\d{1,3}(,\d{3})+$|^[ij]?\d+$/.test(part) ? Number(part.replace(/[ij,]/g, '')) : NaN))
  return read.every(Number.isSafeInteger) ? read : null
}

/** Where a text stands among the tokens, without regard to case. @param {Token[]} tokens @param {string} text @param {number} [most] @returns {{first: number, last: number}[]} */
export function search(tokens, text, most = 1000) {
  const wanted = text.toLowerCase()
  const starts = new Int32Array(tokens.length + 1)
  const pieces = tokens.map((token, at) => {
    const piece = token.bytes?.length ? '\uFFFD' : token.text.toLowerCase()
    starts[at + 1] = starts[at] + piece.length
    return piece
  })
  const whole = pieces.join('')
  /** @type {{first: number, last: number}[]} */
  const out = []
  for (let at = whole.indexOf(wanted); at >= 0 && out.length < most; at = whole.indexOf(wanted, at + 1)) {
    out.push({ first: tokenAt(starts, at), last: tokenAt(starts, at + wanted.length - 1) })
  }
  return out
}

/** The token that a character belongs to. @param {Int32Array} starts @param {number} place */
function tokenAt(starts, place) {
  let [low, high] = [0, starts.length - 2]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle] <= place) low = middle
    else high = middle - 1
  }
  return low
}

const BEFORE = 16 // characters in front of a token, so that a line which is cut at its end still shows the token

/** The tokens around one: few enough in front of it that it is always seen. @param {Token[]} tokens @param {number} at @param {number} [around] */
export function context(tokens, at, around = 6) {
  const end = Math.min(tokens.length, at + around + 1)
  let start = at
  for (let room = BEFORE; start > 0 && at - start < around; start--) {
    room -= Math.max(1, tokens[start - 1].text.length)
    if (room < 0) break
  }
  return { before: tokens.slice(start, at), token: tokens[at] ?? null, after: tokens.slice(at + 1, end), more: { before: start > 0, after: end < tokens.length } }
}
