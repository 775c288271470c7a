import type { TargetRules } from '../../../egress/target.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import { cleanMarkup, cleanText } from '../../../text.ts'
import { imitatesPlatform } from '../../review/impersonation.ts'
import type { Reason } from '../reasons.ts'
import type { ListingCandidate, ListingMethod } from '../store.ts'
import { canonicalUrl } from './canonical-url.ts'
import { classify } from './categories.ts'
import { cleanTags, nameOfUrl, storable } from './clean-text.ts'
import { checkOffers } from './offers.ts'

/** Result of normalizing a row: a candidate, or the reason for refusing it. */
export type NormalizationResult =
  | { readonly candidate: ListingCandidate }
  | { readonly reason: Reason }

/** Unvalidated description of a resource; every member may be missing. */
export interface ResourceDescription {
  readonly name?: unknown
  readonly description?: unknown
  readonly category?: unknown
  readonly tags?: unknown
  readonly provider?: unknown
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Larger schemas are dropped. */
export const SCHEMA_BYTES = 16_384

/**
 * Normalizes a row of an index: CDP's format (`resource`, `accepts`, `extensions.bazaar`) and its
 * variants (`url`, a `resource` object, `metadata`, fields of x402 version 1). Pure.
 */
export function normalizeRow(row: unknown, rules: TargetRules): NormalizationResult {
  if (!isJsonObject(row)) return { reason: 'not_an_object' }
  const type = row['type']
  if (type !== undefined && type !== null && type !== 'http') return { reason: 'not_http' }
  const resource = row['resource'] ?? row['url']
  const named = canonicalUrl(isJsonObject(resource) ? resource['url'] : resource, rules)
  if (typeof named === 'string') return { reason: named }
  const use = readUsage(row)
  const method = readMethod(use)
  if (!method) return { reason: 'method' }
  const offers = checkOffers(row['accepts'])
  if (typeof offers === 'string') return { reason: offers }
  const description = { ...readDescription(row), ...readSchemas(use) }
  const candidate = listingCandidate(named.url, method, offers, description)
  if (imitatesPlatform(candidate.name, candidate.description)) return { reason: 'imitation' }
  return { candidate }
}

/** Creates a candidate from checked terms and a description, which is cleaned and truncated. */
export function listingCandidate(
  url: string,
  method: ListingMethod,
  offers: ListingCandidate['offers'],
  resource: ResourceDescription,
): ListingCandidate {
  const { hostname } = new URL(url)
  const given = cleanMarkup(resource.name, 100)
  const name = given || nameOfUrl(url)
  const description = cleanMarkup(resource.description, 1_000)
  const tags = cleanTags(resource.tags)
  const category = cleanText(resource.category, 40)
  return {
    url,
    method,
    name,
    description,
    category: classify([
      { text: given, weight: 3 },
      { text: pathOf(url), weight: 2 },
      { text: description, weight: 1.5 },
      { text: tags.join(' '), weight: 1 },
      { text: category, weight: 3 },
      { text: fieldNames(resource.inputSchema, resource.outputSchema), weight: 0.4 },
    ]),
    tags,
    provider: cleanText(resource.provider, 100) || hostname.replace(/^(?:www|api|x402)\./, ''),
    offers,
    inputSchema: storable(resource.inputSchema, SCHEMA_BYTES),
    outputSchema: storable(resource.outputSchema, SCHEMA_BYTES),
    named: given !== '',
  }
}

/** Path of a resource; `api` and versions say nothing about it. */
const pathOf = (url: string): string =>
  new URL(url).pathname
    .split('/')
    .filter((part) => part !== 'api' && !/^v\d/i.test(part))
    .join(' ')

/** Names of members in schemas or examples, as one text. */
const fieldNames = (...schemas: readonly unknown[]): string =>
  schemas
    .flatMap((schema) =>
      isJsonObject(schema) ? Object.keys(objectMember(schema, 'properties')) : [],
    )
    .slice(0, 40)
    .join(' ')

/** Input and output of a resource, from its offer or row. */
interface Usage {
  readonly input: JsonObject
  readonly output: unknown
  readonly schema: JsonObject
}

/** Reads x402 version 2's bazaar extension, fields of its draft, or version 1's `outputSchema`. */
export function readUsage(row: JsonObject): Usage {
  const bazaar = objectMember(objectMember(row, 'extensions'), 'bazaar')
  const info = objectMember(bazaar, 'info')
  const accepts = Array.isArray(row['accepts']) ? row['accepts'] : []
  const first =
    accepts.filter(isJsonObject).find((entry) => isJsonObject(entry['outputSchema'])) ?? {}
  const known = [info, row, objectMember(first, 'outputSchema'), objectMember(row, 'outputSchema')]
  const source = known.find((one) => isJsonObject(one['input'])) ?? {}
  return {
    input: {
      ...(row['method'] ? { method: row['method'] } : {}),
      ...objectMember(source, 'input'),
    },
    output: source['output'],
    schema: objectMember(bazaar, 'schema'),
  }
}

/** Returns the method of a resource, GET by default; undefined if it is invalid. */
export function readMethod({ input }: Usage): ListingMethod | undefined {
  const named = input['method']
  if (named === undefined || named === null) {
    return 'body' in input || 'bodyFields' in input || 'bodyType' in input ? 'POST' : 'GET'
  }
  const method = typeof named === 'string' ? named.toUpperCase() : ''
  return METHODS.includes(method) ? (method as ListingMethod) : undefined
}

/** Returns the schemas, or the examples if there are none. */
export function readSchemas({ input, output, schema }: Usage): ResourceDescription {
  const properties = objectMember(schema, 'properties')
  const { type: _type, method: _method, ...fields } = input
  const example = Object.keys(fields).length > 0 ? fields : null
  return {
    inputSchema: properties['input'] ?? example,
    outputSchema: properties['output'] ?? (isJsonObject(output) ? output : null),
  }
}

function readDescription(row: JsonObject): ResourceDescription {
  const metadata = objectMember(row, 'metadata')
  const resource = objectMember(row, 'resource')
  const accepts = Array.isArray(row['accepts']) ? row['accepts'].filter(isJsonObject) : []
  return {
    name: row['serviceName'] ?? resource['serviceName'] ?? metadata['name'] ?? row['name'],
    description:
      row['description'] ??
      resource['description'] ??
      metadata['description'] ??
      accepts.find((entry) => typeof entry['description'] === 'string')?.['description'],
    category: metadata['category'] ?? row['category'],
    tags: row['tags'] ?? resource['tags'] ?? metadata['tags'],
    provider: metadata['provider'] ?? row['provider'],
  }
}
