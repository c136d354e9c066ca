// What a knock-out tells, as rows and words.

import { fixed, four } from './number.js'

/** @typedef {import("../types.js").Knocked} Knocked @typedef {import("../types.js").KnockedToken} KnockedToken */

const MOST = 6

/** The likeliest tokens of both answers, each once: those of before first. @param {Knocked["next"]} next @returns {KnockedToken[]} */
export function rowsOf({ before = [], after = [] }) {
  const each = new Map([...before.slice(0, MOST - 1), ...after].map((token) => [token.id, token]))
  return [...each.values()].slice(0, MOST)
}

/** After which position to tell: of a query that is a token of the answer its own, null where it is none of them. @param {import("../types.js").Site} site @param {import("../types.js").Result} result @param {number} i */
export const positionOf = (site, result, i) => (result.model.kind === 'encoder-decoder' && site.stack === 'encoder' ? null : i)

/** "The distribution moved by KL .0123 nats, total variation .034; the log-probability of the token that stands there by −.12." @param {Knocked} told */
export function movedWords({ next, share }) {
  if (next.kl === undefined || next.variation === undefined) {
    const moved = share?.[next.position]
    return moved === null || moved === undefined ? '' : `The last hidden state of this position moved by ${four(moved)} of its length.`
  }
  if (next.kl === 0 && next.variation === 0) return 'What is expected next did not move at all.'
  const realised = typeof next.realised === 'number' ? `; the log-probability of what really follows by ${next.realised > 0 ? '+' : ''}${fixed(next.realised, 4)}` : ''
  return `What is expected next moved by ${four(next.kl)} nats (KL), total variation ${four(next.variation)}${realised}.`
}
