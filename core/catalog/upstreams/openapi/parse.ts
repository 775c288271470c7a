import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0'
import { upgradeFromThreeToThreeOne } from '@scalar/openapi-upgrader/3.0-to-3.1'
import { parse as parseYaml } from 'yaml'
import { Fault } from '../../../errors.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import { DOCUMENT_MAX } from './document-max.ts'

const DEPTH_MAX = 100
const NODES_MAX = 2_000_000
const ALIASES_MAX = 100

/** Parses a document, or a part of one. @throws Fault `openapi_unreadable` */
export function parseDocument(text: string): JsonObject {
  if (Buffer.byteLength(text) > DOCUMENT_MAX) {
    const detail = `The document has more than ${DOCUMENT_MAX} bytes. Remove what you do not sell.`
    throw unreadable(detail)
  }
  const document = parseText(text)
  if (!isJsonObject(document)) throw unreadable('The document is not an object.')
  return document
}

/** Upgrades OpenAPI 3 or Swagger 2.0 to 3.1, in place. @throws Fault `openapi_unreadable` */
export function upgradeOpenApi(document: JsonObject): JsonObject {
  assertVersion(document)
  if (countNodes(document) === undefined) {
    const detail = `It is nested more than ${DEPTH_MAX} deep or has more than ${NODES_MAX} parts`
    throw unreadable(`${detail}. Select operations with "only".`)
  }
  try {
    if (!isSwagger(document)) return upgradeFromThreeToThreeOne({ ...document }) as JsonObject
    keepStreamResponses(document)
    markFormLists(document)
    // The upgrader does not accept the version as a number, which some documents have.
    const three = upgradeFromTwoToThree({ ...document, swagger: '2.0' })
    requireForms(three as JsonObject)
    return upgradeFromThreeToThreeOne({ ...three }) as JsonObject
  } catch (error) {
    throw unreadable('The document does not have the structure of its version.', error)
  }
}

/** @throws Fault `openapi_unreadable` */
export function assertVersion(document: JsonObject): void {
  if (isSwagger(document) || /^3\.[0-2](\.|$)/.test(String(document['openapi']))) return
  throw unreadable('The document is not OpenAPI 3.0, 3.1 or 3.2, nor Swagger 2.0.')
}

const isSwagger = ({ swagger }: JsonObject): boolean =>
  String(swagger) === '2' || String(swagger) === '2.0'

/** Marks forms with required members as required, which the upgrader does not. */
function requireForms({ paths }: JsonObject): void {
  for (const { requestBody } of objectValues(paths).flatMap(objectValues)) {
    const body = isJsonObject(requestBody) ? requestBody : {}
    const forms = Object.entries(objectMember(body, 'content')).filter(([type]) =>
      /form/.test(type),
    )
    const isRequired = forms.some(([, media]) => {
      const schema = isJsonObject(media) ? media['schema'] : undefined
      const required = isJsonObject(schema) ? schema['required'] : undefined
      return Array.isArray(required) && required.length > 0
    })
    if (isRequired) Object.assign(body, { required: true })
  }
}

/** States the default of lists in forms, which the upgrader otherwise drops, and marks tabs. */
function markFormLists({ paths, parameters }: JsonObject): void {
  const items = objectValues(paths)
  const operations = items.flatMap(objectValues)
  const listed = [...items, ...operations].flatMap((each) => each['parameters'] ?? [])
  for (const parameter of [...listed, ...objectValues(parameters)]) {
    if (!isJsonObject(parameter) || parameter['type'] !== 'array') continue
    const { collectionFormat = 'csv' } = parameter
    Object.assign(parameter, { collectionFormat })
    if (collectionFormat === 'tsv') Object.assign(parameter, { 'x-tsv': true })
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

/** Merge keys (`<<`) are of YAML 1.1, but common in documents written by hand. */
const YAML_OPTIONS = {
  maxAliasCount: ALIASES_MAX,
  merge: true,
  logLevel: 'error',
} as const

function parseText(given: string): unknown {
  const text = given.startsWith('\uFEFF') ? given.slice(1) : given
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text)
    return parseYaml(text, YAML_OPTIONS)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'MULTIPLE_DOCS')
      throw unreadable('The text has several YAML documents. Send one.', error)
    const [message = ''] = (error as Error).message.split(/:?\n/)
    throw unreadable(message.slice(0, 200), error)
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
