// The chapters' modules, each loaded when its chapter is first shown. The list is literal so that a bundler finds every one.

/** @type {Record<number, () => Promise<import("./types.js").Module>>} */
export const CHAPTERS = {
  1: () => import('../chapters/c01.js'),
  2: () => import('../chapters/c02.js'),
  3: () => import('../chapters/c03.js'),
  4: () => import('../chapters/c04.js'),
  5: () => import('../chapters/c05.js'),
  6: () => import('../chapters/c06.js'),
  7: () => import('../chapters/c07.js'),
  8: () => import('../chapters/c08.js'),
  9: () => import('../chapters/c09.js'),
  10: () => import('../chapters/c10.js'),
  11: () => import('../chapters/c11.js'),
}
