import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import { visibleJson } from '../../core/text.ts'

const ID_BYTES = 6

/**
 * Marks members as data of third parties: `data_begin` and `data_end` enclose them, with an id that
 * cannot be known in advance. JSON escapes the content, so that it cannot end the section.
 * Invisible characters are removed, because they hide instructions from people only.
 */
export function asData(members: JsonObject): JsonObject {
  const id = randomBytes(ID_BYTES).toString('base64url')
  return { data_begin: id, ...visibleJson(members), data_end: id }
}
