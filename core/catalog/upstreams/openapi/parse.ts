import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0'
import { upgradeFromThreeToThreeOne } from '@scalar/openapi-upgrader/3.0-to-3.1'
import { parse as parseYaml } from 'yaml'
import { Fault } from '../../../errors.ts'
import { isJsonObject, type JsonObject } from '../../../json.ts'

/** The longest document that is read, in bytes. */
export const DOCUMENT_MAX = 2_097_152
const DEPTH_MAX = 100
const NODES_MAX = 200_000
const ALIASES_MAX = 100

/**
 * Reads an OpenAPI document, or one of Swagger 2.0, JSON or YAML, and brings it to version 3.1.
 * @throws Fault `openapi_unreadable`
 */
export function parseOpenApi(text: string): JsonObject {
  if (Buffer.byteLength(text) > DOCUMENT_MAX) {
    throw unreadable(`It has more than ${DOCUMENT_MAX} bytes.`)
  }
  const document = read(text)
  if (!isJsonObject(document)) throw unreadable('It is no object.')
  const { openapi, swagger } = document
  const isSwagger = String(swagger) === '2' || String(swagger) === '2.0'
  if (!isSwagger && !/^3\.[01](\.|$)/.test(String(openapi))) {
    throw unreadable('It is not OpenAPI 3.0 or 3.1, nor Swagger 2.0.')
  }
  const size = sizeOf(document)
  if (size === undefined) throw unreadable('It is nested too deep, or has too many parts.')
  try {
    const own = structuredClone(document)
    // Some write the version as a number, which the conversion does not know.
    if (isSwagger) nameStreams(own)
    const three = isSwagger ? upgradeFromTwoToThree({ ...own, swagger: '2.0' }) : own
    return upgradeFromThreeToThreeOne({ ...three }) as JsonObject
  } catch (error) {
    throw unreadable('It is not built as its version says.', error)
  }
}

/**
 * Swagger says at the operation, or for all of them, what is answered; the conversion drops that
 * of a response without a schema. Of one that streams it is all that is said.
 */
function nameStreams({ paths, produces }: JsonObject): void {
  const operations = membersOf(paths).flatMap(membersOf)
  for (const { produces: own = produces, responses } of operations) {
    if (!Array.isArray(own) || !own.some((type) => String(type).startsWith(STREAM))) continue
    for (const response of membersOf(responses)) {
      if (!('$ref' in response)) Object.assign(response, { schema: response['schema'] ?? {} })
    }
  }
}
const STREAM = 'text/event-stream'
const membersOf = (of: unknown): readonly JsonObject[] =>
  isJsonObject(of) ? Object.values(of).filter(isJsonObject) : []

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
