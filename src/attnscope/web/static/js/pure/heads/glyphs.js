// The mark of each class: a path in a square of twelve.

/** @type {Record<string, string>} */
export const GLYPHS = {
  prev: 'M0 3h3v3H0zM3 6h3v3H3zM6 9h3v3H6z',
  same: 'M0 3h3v3H0zM6 6h3v3H6zM3 9h3v3H3zM9 9h3v3H9z',
  first: 'M0 0h3v12H0z',
  next: 'M3 6h3v3H3zM0 9h3v3H0zM6 9h3v3H6z',
  word: 'M0 0h3v6H0zM6 6h3v6H6z',
  near: 'M0 0h3v3H0zM0 3h6v3H0zM3 6h6v3H3zM6 9h6v3H6z',
  self: 'M0 0h3v3H0zM3 3h3v3H3zM6 6h3v3H6zM9 9h3v3H9z',
  sink: 'M0 0h12v2H0zM5 4h2v8H5z',
  broad: 'M0 0h3v3h3v3h3v3h3v3H0z',
  none: 'M1 5h10v2H1z',
}
