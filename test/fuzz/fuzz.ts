import * as fc from 'fast-check'
import { request } from 'undici'
import { type Document, type Operation, ResponseChecker } from './response-checker.ts'
import { fuzzedValue, type Schema } from './values.ts'

export interface FuzzOptions {
  readonly url: string
  readonly document: Document
  /** API keys and session cookies used in requests. */
  readonly keys: readonly string[]
  /** Known ids for path parameters; ids found in responses are added. */
  readonly known: readonly string[]
  /** Operations to skip, matched as `GET /path`. */
  readonly skip?: RegExp
  readonly seed: number
  /** Minimum number of requests per operation, regardless of the time limit. */
  readonly runs: number
  /** Time limit for all further requests. */
  readonly milliseconds: number
}

export interface Findings {
  /** Faults such as `GET /v1/x: undocumented status 418 …`, with the request that causes it. */
  readonly faults: readonly string[]
  readonly requests: number
}

interface FuzzRequest {
  /** Path parameters: a string, or the index of a known id. */
  readonly pathParameters: readonly (string | number)[]
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly key: string | undefined
  readonly network: number
}

const CONCURRENCY = 4
const REQUEST_TIMEOUT_MS = 20_000

/** Sends every operation of a document valid, nearly valid and invalid requests. */
export async function fuzz(options: FuzzOptions): Promise<Findings> {
  const { document, skip, seed, runs, milliseconds } = options
  const checker = new ResponseChecker(document)
  const all = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
    )
    .filter(({ method, path }) => !skip?.test(`${method.toUpperCase()} ${path}`))
  const faults: string[] = []
  let requests = 0
  const known = new KnownIds(options.known)
  const each = (milliseconds * CONCURRENCY) / all.length
  const waiting = [...all]
  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { method, path, operation } = next
      const send = async (fuzzRequest: FuzzRequest): Promise<void> => {
        requests++
        const response = await ask(options.url, method, path, fuzzRequest, known)
        if (response.status < 300) known.learn(response.text)
        const fault = checker.fault(operation, fuzzRequest, response)
        if (fault) throw new Error(fault)
      }
      const property = fc.asyncProperty(requestsFor(path, operation, options.keys), send)
      const limits = { interruptAfterTimeLimit: each, markInterruptAsFailure: false }
      const first = await fc.check(property, { seed, numRuns: runs })
      const result = first.failed
        ? first
        : await fc.check(property, { seed: seed + 1, numRuns: 10_000, ...limits })
      if (!result.failed || !result.counterexample) continue
      const why = String(result.errorInstance).replace(/^Error: /, '')
      const example = JSON.stringify(result.counterexample[0]).slice(0, 600)
      faults.push(`${method.toUpperCase()} ${path}: ${why} by ${example}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, runNext))
  return { faults, requests }
}

const NETWORKS = 60_000

/** Excludes dot segments, which clients resolve into another path. */
const isPathParameter = (text: string): boolean => !/^\.{1,2}$/.test(text)

function requestsFor(path: string, operation: Operation, keys: readonly string[]) {
  const member = fc.oneof(
    { weight: 4, arbitrary: fc.nat({ max: KNOWN_IDS_MAX }) },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 40 }).filter(isPathParameter) },
  )
  const query = (operation.parameters ?? []).filter((one) => one.in === 'query')
  const [media] = Object.values(operation.requestBody?.content ?? {})
  return fc.record<FuzzRequest>({
    pathParameters: fc.tuple(...parameterNames(path).map(() => member)),
    query: fc
      .record(Object.fromEntries(query.map(({ name, schema }) => [name, rarely(textOf(schema))])))
      .map((all) => JSON.parse(JSON.stringify(all)) as Record<string, string>),
    body: media ? fuzzedValue(media.schema) : fc.constant(undefined),
    key: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...keys) },
      { weight: 1, arbitrary: fc.constantFrom(undefined, 'ahk_no', 'x') },
    ),
    network: fc.nat({ max: NETWORKS }),
  })
}

const parameterNames = (path: string) => [...path.matchAll(/\{\w+\}/g)].map(([name]) => name)

/** Makes a value undefined in three of four requests. */
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const KNOWN_IDS_MAX = 60

/** Ids that exist, learned from responses. */
class KnownIds {
  readonly #names: string[]
  readonly #first: number
  #next = 0

  constructor(names: readonly string[]) {
    this.#names = [...names]
    this.#first = names.length
  }

  learn(text: string): void {
    for (const [, name = ''] of text.matchAll(/"(?:\w+_)?(?:id|slug)":"([\w:.-]{2,60})"/g)) {
      if (!this.#names.includes(name))
        this.#names[this.#first + (this.#next++ % KNOWN_IDS_MAX)] = name
    }
  }

  name(member: string | number): string {
    return typeof member === 'string' ? member : this.#names[member % this.#names.length]!
  }
}

const textOf = (schema: Schema): fc.Arbitrary<string> =>
  fuzzedValue(schema).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))

/** Sends the cookie of a session as browsers do, with the origin of the hub. */
const credentialsOf = (key: string | undefined, origin: string) =>
  key?.startsWith('hub_session=')
    ? { cookie: key, origin }
    : key !== undefined && { authorization: `Bearer ${key}` }

async function ask(
  url: string,
  method: string,
  path: string,
  fuzzRequest: FuzzRequest,
  known: KnownIds,
) {
  const { pathParameters, query, body, key, network } = fuzzRequest
  const place = parameterNames(path).reduce(
    (text, name, i) =>
      text.replace(name, () => encodeURIComponent(known.name(pathParameters[i]!).toWellFormed())),
    path,
  )
  const target = new URL(place, url)
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value)
  const answer = await request(target, {
    method: method.toUpperCase() as 'GET',
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    reset: true, // a stored connection may close just before it is used
    headers: {
      // A different network per request, so that rate limits do not apply.
      'x-forwarded-for': `10.${network >> 8}.${network & 255}.1`,
      ...credentialsOf(key, target.origin),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const [type = ''] = String(answer.headers['content-type'] ?? '').split(';')
  return { status: answer.statusCode, type, text: await answer.body.text() }
}
