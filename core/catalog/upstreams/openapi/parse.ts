import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0'
import { upgradeFromThreeToThreeOne } from '@scalar/openapi-upgrader/3.0-to-3.1'
import { parse as parseYaml } from 'yaml'
import { Fault } from '../../../errors.ts'
import { isJsonObject, type JsonObject } from '../../../json.ts'
import { DOCUMENT_MAX } from './document-max.ts'

const DEPTH_MAX = 100
const NODES_MAX = 200_000
const ALIASES_MAX = 100

/** Parses OpenAPI 3 or Swagger 2.0 and upgrades it to 3.1. @throws Fault `openapi_unreadable` */
export function parseOpenApi(text: string): JsonObject {
  if (Buffer.byteLength(text) > DOCUMENT_MAX) {
    throw unreadable(`The document has more than ${DOCUMENT_MAX} bytes.`)
  }
  const document = parseText(text)
  if (!isJsonObject(document)) throw unreadable('The document is not an object.')
  const { openapi, swagger } = document
  const isSwagger = String(swagger) === '2' || String(swagger) === '2.0'
  if (!isSwagger && !/^3\.[01](\.|$)/.test(String(openapi))) {
    throw unreadable('The document is not OpenAPI 3.0 or 3.1, nor Swagger 2.0.')
  }
  const size = countNodes(document)
  if (size === undefined)
    throw unreadable('The document is nested too deeply or has too many parts.')
  try {
    const copy = structuredClone(document)
    // The upgrader does not accept the version as a number, which some documents have.
    if (isSwagger) keepStreamResponses(copy)
    const three = isSwagger ? upgradeFromTwoToThree({ ...copy, swagger: '2.0' }) : copy
    return upgradeFromThreeToThreeOne({ ...three }) as JsonObject
  } catch (error) {
    throw unreadable('The document does not have the structure of its version.', error)
  }
}

/**
 * Adds an empty schema to responses of streaming operations, because the upgrader otherwise drops
 * the media type that Swagger declares per operation or document.
 */
function keepStreamResponses({ paths, produces }: JsonObject): void {
  const operations = objectValues(paths).flatMap(objectValues)
  for (const { produces: types = produces, responses } of operations) {
    if (!Array.isArray(types) || !types.some((type) => String(type).startsWith(EVENT_STREAM)))
      continue
    for (const response of objectValues(responses)) {
      if (!('$ref' in response)) Object.assign(response, { schema: response['schema'] ?? {} })
    }
  }
}
const EVENT_STREAM = 'text/event-stream'
const objectValues = (of: unknown): readonly JsonObject[] =>
  isJsonObject(of) ? Object.values(of).filter(isJsonObject) : []

function parseText(text: string): unknown {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text)
    return parseYaml(text, { maxAliasCount: ALIASES_MAX, prettyErrors: false })
  } catch (error) {
    throw unreadable((error as Error).message.slice(0, 200), error)
  }
}

/** Counts nodes, YAML aliases each time; undefined if too many or too deep. */
function countNodes(root: unknown): number | undefined {
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
