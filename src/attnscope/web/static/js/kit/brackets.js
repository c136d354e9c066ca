// Tall brackets in formulas where no font for mathematics is installed: without one a browser leaves them as low as a letter.

const LOW = 0.8 // of what stands between the brackets

/** Marks a formula whose brackets stayed low; the style sheet draws those taller. @param {Element} math that can be seen */
export function stretch(math) {
  const inner = Math.max(0, ...[...math.querySelectorAll('mfrac')].map((one) => one.getBoundingClientRect().height))
  const bracket = math.querySelector('[stretchy="true"]')?.getBoundingClientRect().height ?? 0
  math.classList.toggle('short', bracket > 0 && bracket < LOW * inner)
}
