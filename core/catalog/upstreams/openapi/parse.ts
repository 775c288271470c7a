import { upgradeFromThreeToThreeOne } from '@scalar/openapi-upgrader/3.0-to-3.1'
import { parse as parseYaml } from 'yaml'
import { Fault } from '../../../errors.ts'
import { isObject, type Json } from '../schemas.ts'

/** The longest document that is read, in bytes. */
export const DOCUMENT_MAX = 2_097_152
const DEPTH_MAX = 100
const NODES_MAX = 200_000
const ALIASES_MAX = 100

/**
 * Reads an OpenAPI document, JSON or YAML, and brings it to version 3.1.
 * @throws Fault `openapi_unreadable`
 */
export function parseOpenApi(text: string): Json {
  if (Buffer.byteLength(text) > DOCUMENT_MAX) {
    throw unreadable(`It has more than ${DOCUMENT_MAX} bytes.`)
  }
  const document = read(text)
  if (!isObject(document)) throw unreadable('It is no object.')
  const { openapi, swagger } = document
  if (swagger !== undefined) throw unreadable('It is Swagger 2: convert it to OpenAPI 3 first.')
  if (!/^3\.[01](\.|$)/.test(String(openapi))) throw unreadable('It is not OpenAPI 3.0 or 3.1.')
  const size = sizeOf(document)
  if (size === undefined) throw unreadable('It is nested too deep, or has too many parts.')
  return upgradeFromThreeToThreeOne(structuredClone(document)) as Json
}

function read(text: string): unknown {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text)
    return parseYaml(text, { maxAliasCount: ALIASES_MAX, prettyErrors: false })
  } catch (error) {
    throw unreadable((error as Error).message.slice(0, 200), error)
  }
}

/** How many parts it has; undefined: too many, or too deep. Aliases of YAML count each time. */
function sizeOf(root: unknown): number | undefined {
  let count = 0
  const visit = (node: unknown, depth: number): boolean =>
    depth <= DEPTH_MAX &&
    ++count <= NODES_MAX &&
    (typeof node !== 'object' ||
      node === null ||
      Object.values(node).every((each) => visit(each, depth + 1)))
  return visit(root, 0) ? count : undefined
}

const unreadable = (detail: string, cause?: unknown): Fault =>
  new Fault('openapi_unreadable', detail, { cause })
