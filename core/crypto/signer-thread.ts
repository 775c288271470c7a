import { type KeyObject, sign } from 'node:crypto'
import { workerData } from 'piscina'

/** As text, one character a byte. */
export type Signatures = readonly string[]

/** Signs texts of one byte a character. */
export default (texts: readonly string[]): Signatures =>
  texts.map((text) =>
    sign(null, Buffer.from(text, 'latin1'), workerData as KeyObject).toString('latin1'),
  )
