// Rows of the head grid: recorded sites in order, and the layers that have nothing to show, each with its reason.

import { groupOf, groupsOf } from './places.js'

/** @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site @typedef {import("../types.js").State} State */
/** @typedef {import("../types.js").Missing} Missing @typedef {import("../types.js").Group} Group */
/** @typedef {{kind: "site", site: Site, first: number}|{kind: "missing", missing: Missing}} Row first: place of its head 0 among all heads */

/** Of one stack, where there are several. @param {Result} result @param {Group|null} [group] @returns {Row[]} */
export function rows(result, group = null) {
  let first = 0
  /** @type {Row[]} */
  const out = []
  const several = groupsOf(result).length > 1
  const missing = result.missing.filter((one) => !group || !several || groupOfMissing(one) === group).sort((a, b) => a.layer - b.layer)
  for (const site of result.sites) {
    if (!group || groupOf(site) === group) {
      while (missing.length && missing[0].layer < site.layer) out.push({ kind: 'missing', missing: /** @type {Missing} */ (missing.shift()) })
      out.push({ kind: 'site', site, first })
    }
    first += site.heads
  }
  return [...out, ...missing.map((left) => /** @type {Row} */ ({ kind: 'missing', missing: left }))]
}

/** The stack of a layer that has nothing to show, by its name. @param {Missing} missing @returns {Group} */
export const groupOfMissing = ({ name }) => (/(^|\.)encoder(\.|$)/.test(name) ? 'encoder' : 'decoder')

/** The site of another stack at the layer of this one, or the nearest to it. @param {Group} group @param {number} layer @param {Result} result */
export function siteOfGroup(group, layer, result) {
  return nearest(layer, { ...result, sites: result.sites.filter((site) => groupOf(site) === group) })
}

/** "L2"; "E2" in an encoder beside a decoder, "X2" for cross attention. @param {Site} site @param {Result} result */
export function shortName(site, result) {
  const mixed = result.sites.some((other) => other.stack !== site.stack)
  const letter = site.kind === 'cross' ? 'X' : mixed && site.stack === 'encoder' ? 'E' : 'L'
  return letter + site.layer
}

/** "Layer 2", "Encoder layer 2", "Layer 2, cross". @param {Site} site @param {Result} result */
export function longName(site, result) {
  const mixed = result.sites.some((other) => other.stack !== site.stack)
  const name = mixed && site.stack === 'encoder' ? `Encoder layer ${site.layer}` : `Layer ${site.layer}`
  return site.kind === 'cross' ? `${name}, cross` : name
}

/** The site a state speaks of, or the layer without one. @param {Pick<State, "site"|"layer">} state @param {Result} result @returns {Site|Missing|null} */
export function chosen(state, result) {
  const byNumber = state.site === null ? undefined : result.sites[state.site]
  if (byNumber && (state.layer === null || byNumber.layer === state.layer)) return byNumber
  if (state.layer !== null) {
    const ofLayer = result.sites.filter((site) => site.layer === state.layer)
    const best = ofLayer.find((site) => site.stack === 'decoder' && site.kind === 'self') ?? ofLayer[0]
    if (best) return best
    const gap = result.missing.find((missing) => missing.layer === state.layer)
    if (gap) return gap
  }
  return result.sites[Math.min(2, result.sites.length - 1)] ?? result.missing[0] ?? null
}

/** @param {Site|Missing|null} at @returns {at is Site} */
export const isSite = (at) => at !== null && 'heads' in at

/** How a link names a site: by layer, and by its own number where the layer has several. @param {Site} site @param {Result} result */
export function address(site, result) {
  const alone = result.sites.filter((other) => other.layer === site.layer).length === 1
  return { layer: site.layer, site: alone ? null : site.site }
}

/** The site nearest to a layer that has none, the later of two as near. @param {number} layer @param {Result} result @returns {Site|null} */
export function nearest(layer, result) {
  const far = (/** @type {Site} */ site) => Math.abs(site.layer - layer)
  return result.sites.reduce((best, site) => (!best || far(site) <= far(best) ? site : best), /** @type {Site|null} */ (null))
}

/** "3, 11 and 15". @param {number[]} numbers @param {number} [most] */
export function listed(numbers, most = 6) {
  if (numbers.length > most) return `${numbers.slice(0, most).join(', ')} and ${numbers.length - most} more`
  return numbers.length < 2 ? numbers.join('') : `${numbers.slice(0, -1).join(', ')} and ${numbers[numbers.length - 1]}`
}
