import type { Document } from '../model.ts'
import { isEforms, readEforms } from './eforms.ts'
import { isLegacy, readLegacy } from './legacy.ts'
import { parseXml, Unreadable } from './xml.ts'

/** Reads eForms or TED XML. @throws Unreadable; nothing is guessed */
export function readNotice(xml: Uint8Array | string): Document {
  const root = parseXml(xml)
  if (isEforms(root)) return readEforms(root)
  if (isLegacy(root)) return readLegacy(root)
  throw new Unreadable('unknown_schema', `root element ${root.name}`)
}
