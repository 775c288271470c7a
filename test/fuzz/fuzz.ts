import * as fc from 'fast-check'
import { request } from 'undici'
import { type Document, Judge, type Operation } from './judge.ts'
import { type Schema, tried } from './values.ts'

export interface FuzzOptions {
  readonly url: string
  readonly document: Document
  /** Keys to call with, each for a while. */
  readonly keys: readonly string[]
  /** Names for members of paths; those that answers tell are added. */
  readonly known: readonly string[]
  /** Operations, as `GET /path`, that are left out. */
  readonly skip?: RegExp
  readonly seed: number
  /** Each operation is sent so many requests at least, however long they take. */
  readonly runs: number
  /** Of all operations together, beyond those. */
  readonly milliseconds: number
}

export interface Findings {
  /** `GET /v1/x: undocumented status 418 …`, with the request that shows it. */
  readonly faults: readonly string[]
  readonly requests: number
}

interface Trial {
  /** For each member of the path: a text, or the number of one that is known. */
  readonly members: readonly (string | number)[]
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly key: string | undefined
  readonly network: number
}

const AT_ONCE = 4
const ASK_MS = 20_000

/** Sends every operation of a document what it takes, nearly takes and does not take. */
export async function fuzz(options: FuzzOptions): Promise<Findings> {
  const { document, skip, seed, runs, milliseconds } = options
  const judge = new Judge(document)
  const all = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
    )
    .filter(({ method, path }) => !skip?.test(`${method.toUpperCase()} ${path}`))
  const faults: string[] = []
  let requests = 0
  const known = new Known(options.known)
  const each = (milliseconds * AT_ONCE) / all.length
  const waiting = [...all]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { method, path, operation } = next
      const send = async (trial: Trial): Promise<void> => {
        requests++
        const answered = await ask(options.url, method, path, trial, known)
        if (answered.status < 300) known.learn(answered.text)
        const fault = judge.fault(operation, trial, answered)
        if (fault) throw new Error(fault)
      }
      const property = fc.asyncProperty(trialOf(path, operation, options.keys), send)
      const limits = { interruptAfterTimeLimit: each, markInterruptAsFailure: false }
      const first = await fc.check(property, { seed, numRuns: runs })
      const result = first.failed
        ? first
        : await fc.check(property, { seed: seed + 1, numRuns: 10_000, ...limits })
      if (!result.failed || !result.counterexample) continue
      const why = String(result.errorInstance).replace(/^Error: /, '')
      const shown = JSON.stringify(result.counterexample[0]).slice(0, 600)
      faults.push(`${method.toUpperCase()} ${path}: ${why} by ${shown}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { faults, requests }
}

const NETWORKS = 60_000

/** Dot segments are resolved before they are sent, and ask for another path. */
const isMember = (text: string): boolean => !/^\.{1,2}$/.test(text)

function trialOf(path: string, operation: Operation, keys: readonly string[]) {
  const member = fc.oneof(
    { weight: 4, arbitrary: fc.nat({ max: KNOWN_MAX }) },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 40 }).filter(isMember) },
  )
  const query = (operation.parameters ?? []).filter((one) => one.in === 'query')
  const [media] = Object.values(operation.requestBody?.content ?? {})
  return fc.record<Trial>({
    members: fc.tuple(...namesOf(path).map(() => member)),
    query: fc
      .record(Object.fromEntries(query.map(({ name, schema }) => [name, seldom(textOf(schema))])))
      .map((all) => JSON.parse(JSON.stringify(all)) as Record<string, string>),
    body: media ? tried(media.schema) : fc.constant(undefined),
    key: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...keys) },
      { weight: 1, arbitrary: fc.constantFrom(undefined, 'ahk_no', 'x') },
    ),
    network: fc.nat({ max: NETWORKS }),
  })
}

const namesOf = (path: string) => [...path.matchAll(/\{\w+\}/g)].map(([name]) => name)

/** Most requests leave most of it out. */
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const KNOWN_MAX = 60

/** Names of what exists, from the answers that were seen. */
class Known {
  readonly #names: string[]
  readonly #first: number
  #next = 0

  constructor(names: readonly string[]) {
    this.#names = [...names]
    this.#first = names.length
  }

  learn(text: string): void {
    for (const [, name = ''] of text.matchAll(/"(?:\w+_)?(?:id|slug)":"([\w:.-]{2,60})"/g)) {
      if (!this.#names.includes(name)) this.#names[this.#first + (this.#next++ % KNOWN_MAX)] = name
    }
  }

  name(member: string | number): string {
    return typeof member === 'string' ? member : this.#names[member % this.#names.length]!
  }
}

const textOf = (schema: Schema): fc.Arbitrary<string> =>
  tried(schema).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))

async function ask(url: string, method: string, path: string, trial: Trial, known: Known) {
  const { members, query, body, key, network } = trial
  const place = namesOf(path).reduce(
    (text, name, i) =>
      text.replace(name, () => encodeURIComponent(known.name(members[i]!).toWellFormed())),
    path,
  )
  const asked = new URL(place, url)
  for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, value)
  const answer = await request(asked, {
    method: method.toUpperCase() as 'GET',
    signal: AbortSignal.timeout(ASK_MS),
    headers: {
      // Each from a network of its own: what one may ask in a minute is not what is tried here.
      'x-forwarded-for': `10.${network >> 8}.${network & 255}.1`,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const [type = ''] = String(answer.headers['content-type'] ?? '').split(';')
  return { status: answer.statusCode, type, text: await answer.body.text() }
}
