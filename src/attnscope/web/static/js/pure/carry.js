// What of one page's address holds on another: the model, its text, the head and the cell.

const CARRIED = ['model', 'text', 'site', 'layer', 'head', 'i', 'j', 'theme']

/** @param {string} search @returns {string} "?model=…" or "" */
export function carried(search) {
  const query = new URLSearchParams(search)
  const kept = new URLSearchParams()
  for (const name of CARRIED) {
    const value = query.get(name)
    if (value !== null) kept.set(name, value)
  }
  const text = kept.toString()
  return text ? `?${text}` : ''
}
