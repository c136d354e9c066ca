// A step forward moves one thing: what it makes glides in from what it was made of. Reduced motion cuts.

/** @type {Animation[]} */
let running = []

/** ms of a step, as the style sheet says: 0 where motion is to be reduced. */
function duration() {
  const written = getComputedStyle(document.documentElement).getPropertyValue('--step').trim()
  return written.endsWith('ms') ? parseFloat(written) : parseFloat(written) * 1000
}

/** Ends what is still on its way. */
export function settle() {
  for (const one of running) one.finish()
  running = []
}

/**
 * Moves an element in from where another stands; a source that cannot be seen moves nothing.
 * @param {HTMLElement} el @param {HTMLElement|null} source
 */
export function glide(el, source) {
  const time = duration()
  if (!time || !source) return
  const [to, from] = [el.getBoundingClientRect(), source.getBoundingClientRect()]
  if (!to.width || !from.width) return
  const x = from.right - to.right
  const y = from.top + from.height / 2 - (to.top + to.height / 2)
  el.style.setProperty('z-index', '3')
  const animation = el.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], { duration: time, easing: 'cubic-bezier(.2, 0, 0, 1)' })
  animation.onfinish = animation.oncancel = () => el.style.removeProperty('z-index')
  running.push(animation)
}
