// The lesson's address: the chapter, the theme, and whatever the chapter keeps of its own.

/** @typedef {{chapter: number|null, theme: "light"|"dark"|null, own: Record<string, string>}} Place */

/** @param {string} search @returns {Place} chapter is null where none is named, or none that could be one */
export function parse(search) {
  const own = Object.fromEntries(new URLSearchParams(search))
  const { chapter, theme } = own
  delete own.chapter
  delete own.theme
  return {
    chapter: chapter !== undefined && /^\d{1,3}$/.test(chapter) ? Number(chapter) : null,
    theme: theme === 'light' || theme === 'dark' ? theme : null,
    own,
  }
}

/** @param {Place} place @returns {string} "?chapter=2&step=29" */
export function format({ chapter, theme, own }) {
  const query = new URLSearchParams(chapter === null ? {} : { chapter: String(chapter) })
  for (const [name, value] of Object.entries(own)) query.set(name, value)
  if (theme) query.set('theme', theme)
  // what a link may hold unescaped is left readable
  const text = query.toString().replace(/%2C/g, ',').replace(/%3A/g, ':')
  return text ? '?' + text : ''
}

/** The parameters with some changed; null takes one out. @param {Record<string, string>} own @param {Record<string, string|null>} patch @returns {Record<string, string>} */
export function patched(own, patch) {
  const next = { ...own }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name]
    else next[name] = value
  }
  return next
}
