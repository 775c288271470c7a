import { isJson } from '../../../payments/paying/terms.ts'
import type { Reason } from '../reasons.ts'
import type { Candidate, ListingMethod } from '../store.ts'
import { canonicalUrl, type UrlRules } from './canonical.ts'
import { judgeOffers } from './offers.ts'
import { categoryOf, cleanTags, cleanText, nameOfUrl, storable } from './text.ts'

type Json = Readonly<Record<string, unknown>>

/** What becomes of a row: what may be listed, or one reason why not. */
export type Judged = { readonly candidate: Candidate } | { readonly reason: Reason }

/** What a resource says of itself, wherever it says so; all of it may be missing. */
export interface Described {
  readonly name?: unknown
  readonly description?: unknown
  readonly category?: unknown
  readonly tags?: unknown
  readonly provider?: unknown
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Larger schemas are left out. */
export const SCHEMA_BYTES = 16_384

/**
 * Judges one row of an index: of CDP's shape (`resource`, `accepts`, `extensions.bazaar`), and
 * what others make of it (`url`, a `resource` object, `metadata`, fields of version 1). Pure: the
 * same row always gives the same.
 */
export function judgeRow(row: unknown, rules: UrlRules = {}): Judged {
  if (!isJson(row)) return { reason: 'not_an_object' }
  const type = row['type']
  if (type !== undefined && type !== null && type !== 'http') return { reason: 'not_http' }
  const resource = row['resource'] ?? row['url']
  const named = canonicalUrl(isJson(resource) ? resource['url'] : resource, rules)
  if (typeof named === 'string') return { reason: named }
  const use = usageOf(row)
  const method = methodOf(use)
  if (!method) return { reason: 'method' }
  const offers = judgeOffers(row['accepts'])
  if (typeof offers === 'string') return { reason: offers }
  const described = { ...describedBy(row), ...schemasOf(use) }
  return { candidate: candidateOf(named.url, method, offers, described) }
}

/** What may be listed, made of checked terms and of words that are cut to size here. */
export function candidateOf(
  url: string,
  method: ListingMethod,
  offers: Candidate['offers'],
  described: Described,
): Candidate {
  const { hostname } = new URL(url)
  const given = cleanText(described.name, 100)
  const name = given || nameOfUrl(url)
  const description = cleanText(described.description, 1_000)
  const tags = cleanTags(described.tags)
  const category = cleanText(described.category, 40)
  return {
    url,
    method,
    name,
    description,
    category: categoryOf(category, tags.join(' '), `${name} ${new URL(url).pathname}`, description),
    tags,
    provider: cleanText(described.provider, 100) || hostname.replace(/^(?:www|api|x402)\./, ''),
    offers,
    inputSchema: storable(described.inputSchema, SCHEMA_BYTES),
    outputSchema: storable(described.outputSchema, SCHEMA_BYTES),
    named: given !== '',
  }
}

/** How a resource is called and what it answers: where an offer or a row says so. */
interface Usage {
  readonly input: Json
  readonly output: unknown
  readonly schema: Json
}

/** From the bazaar extension of version 2, fields of a draft, or `outputSchema` of version 1. */
export function usageOf(row: Json): Usage {
  const bazaar = inner(inner(row, 'extensions'), 'bazaar')
  const info = inner(bazaar, 'info')
  const accepts = Array.isArray(row['accepts']) ? row['accepts'] : []
  const first = accepts.filter(isJson).find((entry) => isJson(entry['outputSchema'])) ?? {}
  const known = [info, row, inner(first, 'outputSchema'), inner(row, 'outputSchema')]
  const source = known.find((one) => isJson(one['input'])) ?? {}
  return {
    input: { ...(row['method'] ? { method: row['method'] } : {}), ...inner(source, 'input') },
    output: source['output'],
    schema: inner(bazaar, 'schema'),
  }
}

/** The method of a resource; GET where nothing is said; undefined for one that is none. */
export function methodOf({ input }: Usage): ListingMethod | undefined {
  const named = input['method']
  if (named === undefined || named === null) {
    return 'body' in input || 'bodyFields' in input || 'bodyType' in input ? 'POST' : 'GET'
  }
  const method = typeof named === 'string' ? named.toUpperCase() : ''
  return METHODS.includes(method) ? (method as ListingMethod) : undefined
}

/** Schemas where there are some, else the examples. */
export function schemasOf({ input, output, schema }: Usage): Described {
  const properties = inner(schema, 'properties')
  const { type: _type, method: _method, ...fields } = input
  const shown = Object.keys(fields).length > 0 ? fields : null
  return {
    inputSchema: properties['input'] ?? shown,
    outputSchema: properties['output'] ?? (isJson(output) ? output : null),
  }
}

function describedBy(row: Json): Described {
  const metadata = inner(row, 'metadata')
  const resource = inner(row, 'resource')
  const accepts = Array.isArray(row['accepts']) ? row['accepts'].filter(isJson) : []
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

const inner = (value: Json, name: string): Json => {
  const found = value[name]
  return isJson(found) ? found : {}
}
