// Chapter 1, words without context: two sentences side by side, and one sentence with two endings.

import { h, put, say } from '../dom.js'
import { mountBars } from '../kit/bars.js'
import { bars, mountVectors } from '../kit/vectors.js'
import { mountTeller } from '../lesson/teller.js'
import { fixed, weight, weight7 } from '../pure/number.js'
import { mountSeg } from '../views/seg.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */
/** @typedef {"words"|"tokens"|"attention"} Layer @typedef {"none"|"causal"} Mask @typedef {{layer: Layer, mask: Mask}} Choice */

const LAYERS = [{ value: 'tokens', text: 'per-token layers' }, { value: 'attention', text: 'attention' }]
const MASKS = [{ value: 'none', text: 'none' }, { value: 'causal', text: 'causal' }]

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const views = [mountBank(place('bank'), data.experiments.context, on), mountLate(place('late'), data.experiments.late_word, on)]
  const tell = mountTeller(el, '.said', on.say)
  return {
    /** @param {Parameters} state */
    update(state) {
      const choice = choiceOf(state)
      for (const view of views) view.update(choice)
      tell()
    },
    destroy() {},
  }
}

/** @param {Parameters} state @returns {Choice} */
const choiceOf = (state) => ({ layer: state.layer === 'attention' ? 'attention' : 'tokens', mask: state.mask === 'causal' ? 'causal' : 'none' })

/** @param {On} on */
function mountSwitches(on) {
  const layer = mountSeg('Layer', LAYERS, (value) => on.change({ layer: value === 'tokens' ? null : value }, 'layer'))
  const mask = mountSeg('Mask', MASKS, (value) => on.change({ layer: 'attention', mask: value === 'none' ? null : value }, 'mask'))
  const el = h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Layer', layer.el), h('span', { class: 'grp' }, 'Mask', mask.el))
  return {
    el,
    /** @param {Choice} choice */
    update(choice) {
      layer.update(choice.layer)
      mask.update(choice.mask)
      const title = choice.layer === 'tokens' ? 'Per-token layers look at no other word, so no mask changes them; choosing one switches to attention' : ''
      mask.el.title = title
    },
  }
}

/** The largest number by size in nested lists: it fills half a cell. @param {...any} lists @returns {number} */
const largest = (...lists) => Math.max(...lists.flat(Infinity).map(Math.abs))

/** What the choice is called in a sentence. @param {Choice} choice */
const named = ({ layer, mask }) => (layer === 'tokens' ? 'per-token layers' : mask === 'causal' ? 'a causal attention layer' : 'a bidirectional attention layer')

/** @param {HTMLElement} el @param {any} data @param {On} on */
function mountBank(el, data, on) {
  const switches = mountSwitches(on)
  const most = largest(data.token_by_token, data.bidirectional, data.causal)
  const sentences = data.words.map((/** @type {string[]} */ words, /** @type {number} */ n) => mountSentence(data.sentences[n], words, data.places[n]))
  const compared = mountVectors({ label: `The vector of ${data.word} in both sentences`, columns: data.embedded[0][0].length })
  const said = h('p', { class: 'said' })
  put(el, h('div', { class: 'part' }, switches.el, h('div', { class: 'sentences' }, ...sentences.map((/** @type {{el: HTMLElement}} */ one) => one.el)), compared.el, said))

  return {
    /** @param {Choice} choice */
    update(choice) {
      switches.update(choice)
      const deep = data.token_by_token.map((/** @type {number[][][]} */ layers) => layers[layers.length - 1])
      const after = choice.layer === 'tokens' ? deep : choice.mask === 'causal' ? data.causal : data.bidirectional
      const looks = choice.layer === 'tokens' ? null : choice.mask === 'causal' ? data.looks_causal : data.looks_bidirectional
      sentences.forEach((/** @type {{update: Function}} */ one, /** @type {number} */ n) => one.update(after[n], looks?.[n] ?? null, most))
      const [one, two] = [0, 1].map((n) => after[n][data.places[n]])
      const lines = [0, 1].map((n) => ({ name: `${data.word} in “${data.sentences[n]}”`, values: [one, two][n] }))
      const apart = one.map((/** @type {number} */ x, /** @type {number} */ at) => x - two[at])
      compared.update({ lines: [...lines, { name: 'difference', values: apart, difference: true }], most })
      say(said, sentence(choice))
    },
  }

  /** @param {Choice} choice */
  function sentence(choice) {
    if (choice.layer === 'tokens') return `After ${data.token_by_token[0].length} per-token layers ${data.word} has the same vector in both sentences, bit for bit.`
    const apart = choice.mask === 'causal' ? data.causal_difference : data.bidirectional_difference
    const more = choice.mask === 'causal' ? ` It stands last, so a causal mask hides nothing from it.` : ''
    return `After ${named(choice)} the two vectors of ${data.word} differ by up to ${fixed(apart, 3)}.${more}`
  }
}

/** One sentence, a word a line: the word, its vector, and how much of the watched word's attention it gets. @param {string} text @param {string[]} words @param {number} watched */
function mountSentence(text, words, watched) {
  const lines = words.map((word, at) => {
    const vector = h('span')
    const bar = h('i')
    const amount = h('b')
    const look = h('span', { class: 'look' }, h('span', {}, bar), amount)
    const el = h('div', {}, h('span', { class: at === watched ? 'tok still watched' : 'tok still' }, word), vector, look)
    return { el, vector, bar, amount, look, word }
  })
  const head = h('span', { class: 'look-head' }, `weight from ${words[watched]}`)
  const el = h('div', {}, h('h3', {}, `“${text}”`, head), h('div', { class: 'sentence' }, ...lines.map((line) => line.el)))
  return {
    el,
    /** @param {number[][]} after @param {number[]|null} looks @param {number} most */
    update(after, looks, most) {
      head.hidden = looks === null
      lines.forEach(({ vector, bar, amount, look, word }, at) => {
        put(vector, bars(after[at], most), h('span', { class: 'sr' }, `vector of ${word}: ${after[at].map((x) => fixed(x, 2)).join(', ')}`))
        vector.title = after[at].map((x) => fixed(x, 2)).join('  ')
        look.classList.toggle('none', looks === null)
        const w = looks?.[at] ?? 0
        bar.style.width = `${100 * w}%`
        say(amount, looks === null ? '' : weight(w))
        look.title = looks === null ? '' : `${words[watched]} looks at ${word} with ${weight7(w)}`
      })
    },
  }
}

/** @param {HTMLElement} el @param {any} data @param {On} on */
function mountLate(el, data, on) {
  const switches = mountSwitches(on)
  const most = largest(data.token_by_token, data.bidirectional, data.causal)
  const endings = data.endings.map((/** @type {string} */ ending) =>
    h('div', { class: 'words', 'aria-label': [...data.start, ending].join(' '), role: 'group' },
      ...data.start.map((/** @type {string} */ word, /** @type {number} */ at) => h('span', { class: at === data.place ? 'tok still watched' : 'tok still' }, word)),
      h('span', { class: 'tok still ending' }, ending)))
  const changes = mountBars({ label: 'What the other ending changes at each word', unit: 'length of the difference' })
  const compared = mountVectors({ label: `The vector of ${data.word} with both endings`, columns: data.bidirectional[0][0].length })
  const said = h('p', { class: 'said' })
  put(el, h('div', { class: 'part' }, switches.el, h('div', { class: 'lines' }, ...endings),
    h('div', { class: 'two changes' }, h('div', {}, h('h3', {}, `How far each word’s vector moves when ${data.endings[0]} becomes ${data.endings[1]}`), changes.el), h('div', {}, compared.el, said))))

  return {
    /** @param {Choice} choice */
    update(choice) {
      switches.update(choice)
      const [after, change] = choice.layer === 'tokens' ? [data.token_by_token, data.token_by_token_change]
        : choice.mask === 'causal' ? [data.causal, data.causal_change] : [data.bidirectional, data.bidirectional_change]
      const words = [...data.start, data.endings.join(' / ')]
      changes.update({
        rows: words.map((text, at) => ({ text, value: change[at], mark: at === data.place })),
        max: Math.max(...data.bidirectional_change, ...data.token_by_token_change),
      })
      const [one, two] = after.map((/** @type {number[][]} */ vectors) => vectors[data.place])
      const apart = one.map((/** @type {number} */ x, /** @type {number} */ at) => x - two[at])
      compared.update({
        lines: [
          { name: `${data.word}, ending ${data.endings[0]}`, values: one },
          { name: `${data.word}, ending ${data.endings[1]}`, values: two },
          { name: 'difference', values: apart, difference: true },
        ],
        most,
      })
      const moved = change[data.place]
      say(said, moved === 0
        ? `After ${named(choice)} nothing before the last word has moved: the change at ${data.word} is exactly 0.`
        : `After ${named(choice)} the vector of ${data.word} has moved by ${fixed(moved, 3)}, although only the last word differs.`)
    },
  }
}
