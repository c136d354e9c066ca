// Why there is nothing to show, in place: what came, what was wanted, what to try.

import { h, icon, put } from '../dom.js'
import { count } from '../pure/number.js'
import { timeLeft } from '../pure/announce.js'

/** @typedef {{label: string, act: () => void}} Button */

/** @param {{title: string, text: string, hint?: string, bad?: boolean, button?: Button|null, bar?: {done: number, total: number}}} content */
export function card({ title, text, hint, bad = false, button = null, bar }) {
  const heading = h('h3', {}, bad && icon('M7 1.5 13 12.500H1zM7 5.500v3M7 10.600v.1'), title)
  return h('div', { class: bad ? 'card bad' : 'card', role: bad ? 'alert' : null, 'aria-busy': bar ? 'true' : null },
    heading,
    text && h('p', {}, text),
    hint && h('p', {}, hint),
    bar && h('div', { class: 'prog' }, h('i', { style: { width: `${share(bar)}%` } })),
    button && h('button', { class: 'btn', type: 'button', onclick: button.act }, button.label))
}

/**
 * "Layer 19 of 30 · 2,048 tokens · about 4 s left"
 * @param {import("../types.js").Progress} progress
 */
export function progressText(progress) {
  const step = progress.step || { waiting: 'Waiting for the run before', loading: 'Loading the model' }[/** @type {string} */ (progress.state)] || 'Running'
  return [step, timeLeft(progress.seconds_left)].filter(Boolean).join(' · ')
}

/** The card of a run that is under way while nothing older can stay. @param {HTMLElement} el @param {import("../types.js").Progress} progress @param {{layers: number}|undefined} model @param {() => void} cancel */
export function showProgress(el, progress, model, cancel) {
  const title = progress.state === 'loading' ? 'Loading the model' : model ? `Recording ${count(model.layers)} layers` : 'Recording'
  put(el, card({ title, text: progressText(progress), bar: { done: progress.done, total: progress.total }, button: { label: 'Cancel', act: cancel } }))
}

/** @param {{done: number, total: number}} bar percent done */
export const share = ({ done, total }) => (total > 0 ? Math.min(100, (100 * done) / total) : 0)
