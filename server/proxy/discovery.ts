import {
  BAZAAR,
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
} from '@x402/extensions/bazaar'
import type { Offering } from '../../core/catalog/services/catalog.ts'
import {
  type ObjectSchema,
  outlineOf,
  publicSchema,
  type RequestInput,
  splitInput,
} from '../../core/catalog/services/request-input.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { memoizeByObject } from '../../core/runtime/cache.ts'
import { exampleOf } from '../../core/testing/example.ts'

/** Maximum length of the extension in a header, as JSON; beyond it, only an outline is sent. */
const HEADER_CHARS = 2_000

/** Extension `bazaar` of the offers of an endpoint. */
export interface Discovery {
  readonly inHeader: JsonObject
  /** The complete extension for the body, if the header has only its outline. */
  readonly inBody?: JsonObject
}

type Described = Pick<Offering, 'endpoint' | 'method' | 'path' | 'service'>

/**
 * Describes an endpoint to indexers by the x402 extension `bazaar`: method, input and output
 * schema, and an example of the input. Built once per endpoint.
 */
export const discoveryOf: (offering: Described) => Discovery = memoizeByObject(
  (offering: Described) => {
    const { endpoint, method, path } = offering
    const input = splitInput(endpoint, method, path)
    // An undeclared output may be anything, which the empty schema says.
    const output: ObjectSchema = publicSchema(endpoint.output?.json ?? {})
    const complete = declare(offering, input, output)
    if (JSON.stringify(complete).length <= HEADER_CHARS) return { inHeader: complete }
    const outline = mapInput(input, (schema) => outlineOf(schema))
    const sampled = [input, mapInput(input, (schema) => ({ ...schema, examples: [] }))]
    const outlines = sampled.map((each) => declare(offering, outline, outlineOf(output), each))
    const inHeader = outlines.find((each) => JSON.stringify(each).length <= HEADER_CHARS) ?? {}
    return { inHeader, inBody: complete }
  },
)

const mapInput = (
  { path, query, body }: RequestInput,
  map: (schema: ObjectSchema) => ObjectSchema,
): RequestInput => ({ path: map(path), query: map(query), ...(body && { body: map(body) }) })

/** @param sampled schemas of the example @defaultValue schema */
function declare(
  { method, path, service }: Described,
  schema: RequestInput,
  output: object,
  sampled = schema,
): JsonObject {
  const example = (of: object): JsonObject => {
    const made = exampleOf(of)
    return isJsonObject(made) ? made : {} // the example of a schema that admits no object
  }
  const hasPath = path.includes('{')
  const { bazaar } = declareDiscoveryExtension({
    ...(schema.body
      ? { bodyType: 'json', input: example(sampled.body!), inputSchema: { ...schema.body } }
      : { input: example(sampled.query), inputSchema: { ...schema.query } }),
    ...(hasPath && { pathParamsSchema: { ...schema.path } }),
    output: { example: {}, schema: { ...output } },
  })
  const pattern = `/proxy/${service.slug}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`
  const samplePath = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(example(sampled.path)[name])),
  )
  const adapter = { getPath: () => `/proxy/${service.slug}${samplePath}` }
  const context = { method, adapter, ...(hasPath && { routePattern: pattern }) }
  const described = bazaarResourceServerExtension.enrichDeclaration!(bazaar, context) as JsonObject
  // No example of the output: none is declared, and only a call could prove one.
  const { output: _, ...info } = described['info'] as JsonObject
  return { [BAZAAR.key]: { ...described, info } }
}
