// Raw little-endian float32 from the server, with the shape or layout that its header names.

/** @typedef {import("../types.js").Block} Block @typedef {import("../types.js").Sides} Sides */

/** @param {ArrayBuffer} buffer @returns {Float32Array} */
export function floats(buffer) {
  if (buffer.byteLength % 4) throw new RangeError(`${buffer.byteLength} bytes are no whole number of 4-byte floats`)
  if (littleEndian()) return new Float32Array(buffer)
  const view = new DataView(buffer)
  return Float32Array.from({ length: buffer.byteLength / 4 }, (_, at) => view.getFloat32(at * 4, true))
}

/** @param {ArrayBuffer} buffer @param {string|null} header "36,28,28" @returns {Block} */
export function block(buffer, header) {
  const values = floats(buffer)
  const shape = header ? header.split(',').map(Number) : [values.length]
  const wanted = shape.reduce((product, size) => product * size, 1)
  if (wanted !== values.length) throw new RangeError(`${values.length} numbers came; shape ${header} wants ${wanted}`)
  return { values, shape }
}

/** Named arrays one after another. @param {ArrayBuffer} buffer @param {string|null} header "entropy:28,received:28" @returns {Sides} */
export function sides(buffer, header) {
  const values = floats(buffer)
  /** @type {Sides} */
  const named = {}
  let at = 0
  for (const part of (header ?? '').split(',')) {
    const [name, size] = part.split(':')
    named[name] = values.subarray(at, (at += Number(size)))
  }
  if (at !== values.length) throw new RangeError(`${values.length} numbers came; layout ${header} wants ${at}`)
  return named
}

function littleEndian() {
  return new Uint8Array(new Uint16Array([1]).buffer)[0] === 1
}
