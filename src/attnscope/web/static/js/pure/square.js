// The picture of a head's grid and of what stands in for it, all to one scale: where each part lies, in px.

/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/**
 * grid: the whole square. half: that of half the length. strip: what tiles keep of the rows, as many numbers wide as they keep.
 * tile: the one at work. band: the corners of what a causal window sees. thin: parts too small to be drawn to scale, drawn as one px.
 * @typedef {{grid: Box, half: Box, strip: Box, tile: Box, band: string, thin: string[], width: number}} Square
 */

const GAP = 16
const LEAST = 1 // px, or nothing would be seen

/**
 * @param {{side: number, tokens: number, kept: number, window: number, tile: {rows: number, columns: number}}} at side: px of the square;
 *   kept: numbers kept for a row
 * @returns {Square}
 */
export function square({ side, tokens, kept, window, tile }) {
  const unit = side / tokens
  const strip = kept * unit
  const wide = Math.min(window, tokens) * unit
  const [high, long] = [Math.min(tile.rows, tokens) * unit, Math.min(tile.columns, tokens) * unit]
  const thin = []
  if (strip < LEAST) thin.push('rows')
  if (wide < LEAST) thin.push('window')
  if (high < LEAST) thin.push('tile')
  const w = Math.max(wide, LEAST)
  const corners = [[0, 0], [side, side], [side - w, side], [0, w]]
  return {
    grid: { x: 0, y: 0, width: side, height: side },
    half: { x: 0, y: 0, width: side / 2, height: side / 2 },
    strip: { x: side + GAP, y: 0, width: Math.max(strip, LEAST), height: side },
    tile: { x: 0, y: 0, width: Math.max(long, LEAST), height: Math.max(high, LEAST) },
    band: corners.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(' '),
    thin,
    width: side + GAP + Math.max(strip, LEAST),
  }
}
