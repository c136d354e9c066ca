// A weight's colour: the map's eleven stops, equally spaced in OKLab and interpolated there.

const STEPS = 1024

/** @typedef {[number, number, number]} Rgb */
/**
 * at(t), css(t) and ink(t) give the colour of t in [0, 1], the same as CSS text, and which number is read best on it;
 * pixels holds the colours of t = 0 ... 1 in 1,024 steps as little-endian RGBA, for ImageData.
 * @typedef {{at: (t: number) => Rgb, css: (t: number) => string, ink: (t: number) => "dark"|"light", pixels: Uint32Array}} ColourMap
 */

/** @param {string} list CSS colours "#rrggbb, #rrggbb, …" @returns {Rgb[]} */
export function parseStops(list) {
  return list.split(',').map((word) => parseHex(word.trim()))
}

/** @param {string} hex @returns {Rgb} */
export function parseHex(hex) {
  const value = parseInt(hex.slice(1, 7), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

/** @param {Rgb[]} stops @returns {ColourMap} */
export function makeMap(stops) {
  const lab = stops.map(toOklab)
  /** @type {Rgb[]} */
  const table = []
  const pixels = new Uint32Array(STEPS)
  for (let step = 0; step < STEPS; step++) {
    const rgb = between(lab, step / (STEPS - 1))
    table.push(rgb)
    pixels[step] = packed(rgb)
  }
  const at = (/** @type {number} */ t) => table[stepOf(t)]
  return { at, pixels, css: (t) => `rgb(${at(t).join(' ')})`, ink: (t) => inkOn(at(t)) }
}

/** The step of the table that shows t; what lies outside [0, 1] is held to its ends. @param {number} t */
export function stepOf(t) {
  return t >= 1 ? STEPS - 1 : t > 0 ? Math.round(t * (STEPS - 1)) : 0
}

/** As ImageData holds it on a little-endian machine, opaque. @param {Rgb} rgb */
export function packed([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0
}

/** Black or white, whichever contrasts more. @param {Rgb} rgb @returns {"dark"|"light"} */
export function inkOn(rgb) {
  const l = luminance(rgb)
  return 1.05 / (l + 0.05) > (l + 0.05) / 0.05 ? 'light' : 'dark'
}

/** Contrast ratio of two colours, as WCAG 2.2 defines it. @param {Rgb} a @param {Rgb} b */
export function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}

/** Relative luminance of WCAG 2.2. @param {Rgb} rgb */
export function luminance([r, g, b]) {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/** @param {Rgb[]} lab @param {number} t @returns {Rgb} */
function between(lab, t) {
  const place = t * (lab.length - 1)
  const left = Math.min(Math.floor(place), lab.length - 2)
  const share = place - left
  const mix = lab[left].map((x, axis) => x + (lab[left + 1][axis] - x) * share)
  return fromOklab(/** @type {Rgb} */ (mix))
}

/** sRGB (0 … 255) to OKLab (B. Ottosson, 2020, "A perceptual color space for image processing"). @param {Rgb} rgb @returns {Rgb} */
export function toOklab(rgb) {
  const [r, g, b] = rgb.map(linear)
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ]
}

/** OKLab to sRGB in whole numbers, held to 0 … 255. @param {Rgb} lab @returns {Rgb} */
export function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    curved(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    curved(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    curved(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ]
}

/** @param {number} channel 0 … 255 */
function linear(channel) {
  const x = channel / 255
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4
}

/** @param {number} x linear light */
function curved(x) {
  const y = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055
  return Math.round(255 * Math.min(1, Math.max(0, y)))
}
