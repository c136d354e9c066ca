// What was there before, and what was taken back: undo and redo over any kind of thing that is never changed itself.

const MOST = 1000 // steps that are kept

/** @template T */
export class Trail {
  /** @type {T[]} */ #past = []
  /** @type {T[]} */ #undone = []

  get undoable() {
    return this.#past.length > 0
  }

  get redoable() {
    return this.#undone.length > 0
  }

  /** `one` is left for something new: what was undone before is no longer to be had. @param {T} one */
  leave(one) {
    this.#past.push(one)
    if (this.#past.length > MOST) this.#past.shift()
    this.#undone = []
  }

  /** The last one that was left, or undefined. @param {T} now what stands there at present */
  undo(now) {
    return moved(this.#past, this.#undone, now)
  }

  /** The last one that was undone, or undefined. @param {T} now what stands there at present */
  redo(now) {
    return moved(this.#undone, this.#past, now)
  }
}

/** @template T @param {T[]} from @param {T[]} to @param {T} now @returns {T|undefined} */
function moved(from, to, now) {
  if (!from.length) return undefined
  to.push(now)
  return from.pop()
}
