import { encode } from 'uqr'
import { type Html, html } from './html.ts'

/** A QR code that a device with the wallet can read. */
export function qrCode(text: string, label: string): Html {
  const { size, data } = encode(text, { ecc: 'M', border: 0 })
  const squares = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"
shape-rendering="crispEdges"><path fill="#000" d="${squares.join('')}"/></svg>`
}
