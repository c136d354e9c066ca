// Going from place to place on a map: zoom, arrows, "go to", the next large cell, and which cell a pressed pixel means.

import * as api from '../api.js'
import { find } from '../pure/map/find.js'
import { centred, held, panned, zoomedIn } from '../pure/map/view.js'
import { count } from '../pure/number.js'
import { times } from '../pure/values.js'

/** @typedef {{i: number, j: number}} Cell @typedef {import("../types.js").LargeCell} LargeCell */
/**
 * What is asked of the page.
 * @typedef {{session: import("../session.js").Session, source: import("../mapsource.js").Source|null, sheet: {size: () => import("../pure/map/view.js").Size}, unsaid: "cell"|"view"|null,
 *   tools: {say: (text: string, bad: boolean) => void}, view: () => import("../pure/map/view.js").View|null, here: () => import("../views/map/sheet.js").Here|null,
 *   largest: () => LargeCell[]|undefined, second: () => import("../pure/values.js").Second|null, change: (patch: Partial<import("../types.js").MapState>, kind: string) => void, choose: (cell: Cell) => void}} Page
 */

const FLY = 40 // px of a cell where one flies to
const STEP = 1 / 8 // of the plane that an arrow moves

export class Flight {
  hits = { asked: '', at: -1 }

  /** @param {Page} page */
  constructor(page) {
    this.page = page
  }

  /** @param {Cell} cell @param {{rows: [number, number], columns: [number, number]}|null} block a pixel of many cells: the largest of them is chosen */
  async chooseAt(cell, block) {
    const { source, session: { run } } = this.page
    if (!block || !run || !source) return this.page.choose(cell)
    const [rows, columns] = [block.rows, block.columns].map(([start, end]) => ({ start, size: end - start }))
    try {
      const { values: weights } = await api.grid(run.id, source.site.site, source.head, rows, columns)
      const second = this.page.second()
      const values = second ? times(weights, second.lengths, columns.start, columns.size) : weights
      const best = values.reduce((most, value, at) => (value > values[most] ? at : most), 0)
      if (this.page.source === source) this.page.choose(values[best] < 0 ? cell : { i: rows.start + Math.floor(best / columns.size), j: columns.start + (best % columns.size) })
    } catch {
      if (this.page.source === source) this.page.choose(cell)
    }
  }

  /** @param {Cell} cell */
  fly(cell) {
    if (!this.page.source?.grid) return
    const scale = Math.max(this.page.view()?.scale ?? 0, FLY)
    this.page.unsaid = 'cell'
    this.page.change({ i: cell.i, j: cell.j, view: held(centred(cell, scale, this.page.sheet.size()), this.page.source.grid, this.page.sheet.size()) }, 'fly')
  }

  flyToChosen() {
    const chosen = this.page.here()?.chosen
    if (chosen) this.fly(chosen)
  }

  /** @param {number} factor about the crosshair where it is seen, else about the middle */
  zoom(factor) {
    const [view, grid, chosen] = [this.page.view(), this.page.source?.grid, this.page.here()?.chosen]
    if (!view || !grid) return
    const size = this.page.sheet.size()
    const at = chosen && { x: (chosen.j + 0.5 - view.col) * view.scale, y: (chosen.i + 0.5 - view.row) * view.scale }
    const inside = at && at.x >= 0 && at.y >= 0 && at.x <= size.width && at.y <= size.height
    this.page.unsaid = 'view'
    this.page.change({ view: zoomedIn(view, factor, inside ? at : { x: size.width / 2, y: size.height / 2 }, grid, size) }, 'view')
  }

  whole() {
    this.page.unsaid = 'view'
    this.page.change({ view: null }, 'whole')
  }

  /** @param {number} x @param {number} y steps to the right and down @param {boolean} crosshair moves it rather than the map */
  move(x, y, crosshair) {
    const [view, grid, here] = [this.page.view(), this.page.source?.grid, this.page.here()]
    if (!view || !grid || !here?.site) return
    if (crosshair) {
      const from = here.chosen ?? { i: 0, j: 0 }
      return this.page.choose({ i: Math.max(0, Math.min(grid.tq - 1, from.i + y)), j: Math.max(0, Math.min(grid.tk - 1, from.j + x)) })
    }
    const size = this.page.sheet.size()
    this.page.unsaid = 'view'
    this.page.change({ view: held(panned(view, -x * size.width * STEP, -y * size.height * STEP), grid, size) }, 'view')
  }

  /** @param {string} asked @param {boolean} back to the one before */
  go(asked, back) {
    const here = this.page.here()
    if (!here?.site || !here.axes) return
    const { site, axes, chosen } = here
    const found = find(asked, { tq: site.tq, tk: site.tk, keys: axes.columns.tokens, queries: axes.rows.tokens })
    if (found.kind === 'none') return this.page.tools.say(found.why, true)
    if (found.kind === 'cell') {
      this.page.tools.say('', false)
      const i = found.i ?? chosen?.i ?? 0
      return this.fly({ i, j: found.j ?? this.bestOf(i) ?? Math.min(i + (site.offset ?? 0), site.tk - 1) })
    }
    const { hits } = found
    const at = ((this.hits.asked === asked ? this.hits.at + (back ? -1 : 1) : 0) + hits.length) % hits.length
    this.hits = { asked, at }
    const { side, last } = hits[at]
    this.page.tools.say(`${count(at + 1)} of ${count(hits.length)}${axes.same ? '' : side === 'key' ? ', a key' : ', a query'}`, false)
    if (side === 'query') return this.fly({ i: last, j: this.bestOf(last) ?? chosen?.j ?? 0 })
    const i = Math.min(site.tq - 1, Math.max(chosen?.i ?? 0, site.causal ? last - (site.offset ?? 0) : 0))
    this.fly({ i: Math.max(0, i), j: last })
  }

  /** The key that a row looks at most, where the list of the largest tells it. @param {number} i */
  bestOf(i) {
    return this.page.largest()?.find((cell) => cell.i === i)?.j ?? null
  }

  /** @param {1|-1} step */
  nextLarge(step) {
    const [cells, chosen] = [this.page.largest(), this.page.here()?.chosen]
    if (!cells?.length) return
    const at = cells.findIndex(({ i, j }) => i === chosen?.i && j === chosen.j)
    this.fly(cells[at < 0 ? 0 : (at + step + cells.length) % cells.length])
  }
}
