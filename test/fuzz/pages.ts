import { request } from 'undici'
import { elapsedMs } from '../../core/clock.ts'
import type { Random } from '../conservation/random.ts'
import { type FoundForm, readPage } from './page-reader.ts'
import { type OddRequest, oddForms, oddQueries, oddRequests } from './page-requests.ts'

/** Signed-in visitor whose pages are fuzzed. */
export interface PageRole {
  readonly name: string
  readonly cookie: string
  /** Paths to start from; links of the pages found there are followed. */
  readonly paths: readonly string[]
  /** Texts of other accounts, which no page of this role may show. */
  readonly foreign: readonly string[]
}

export interface PageFuzzOptions {
  readonly url: string
  readonly roles: readonly PageRole[]
  /** Ids of other accounts, sent in place of own ones. */
  readonly ids: readonly string[]
  readonly random: Random
  /** Maximum number of odd requests per page and role. */
  readonly perPage: number
}

export interface PageFindings {
  readonly faults: readonly string[]
  readonly requests: number
  /** Number of pages per role, by the template of their path. */
  readonly pages: Readonly<Record<string, number>>
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly location: string
  readonly text: string
  readonly ms: number
}

/** A page that takes longer hangs; machines of tests may be slow. */
const SLOW_MS = 60_000
const PAGES_PER_TEMPLATE = 2
/** Values of programs, and words of validators and databases, which no page shows. */
const MACHINE_TEXT = new RegExp(
  [
    String.raw`\[object |\bundefined\b|\bNaN\b|ZodError|TypeError|SyntaxError|node:internal`,
    String.raw`Invalid (?:date|input|time)|Expected (?:string|number)|must match pattern`,
    String.raw`violates|invalid input syntax|out of range for type|at \w+ \(`,
    String.raw`\s/(?:\w+)?: `, // a JSON pointer
  ].join('|'),
)
/** Scripts, code, values and tags, which the text of a page does not include. */
const SOURCE = /<(script|style|pre|code|textarea)\b[\s\S]*?<\/\1>|<input[^>]*>|<[^>]+>/g

/** Sends odd requests to the pages and forms of each role, as far as its links lead. */
export async function fuzzPages(options: PageFuzzOptions): Promise<PageFindings> {
  const faults = new Map<string, string>()
  const pages: Record<string, number> = {}
  let requests = 0
  for (const role of options.roles) {
    const send = async (odd: OddRequest): Promise<Reply> => {
      requests++
      const reply = await sendRequest(options.url, role.cookie, odd, requests)
      for (const fault of faultsOf(reply, odd, role)) {
        const key = `${role.name} ${odd.method} ${templateOf(odd.path)}: ${fault}`
        if (!faults.has(key)) faults.set(key, `${key} by ${describeRequest(odd)}`)
      }
      return reply
    }
    const found = await crawl(role.paths, send)
    pages[role.name] = found.size
    for (const [path, forms] of found) {
      const odds = [
        ...oddQueries(path, options.random),
        ...oddRequests(path, options.ids),
        ...oddForms(path, forms, options),
      ]
      for (const odd of options.random.shuffled(odds).slice(0, options.perPage)) await send(odd)
    }
  }
  return { faults: [...faults.values()], requests, pages }
}

/** Follows links. @returns forms by path */
async function crawl(
  paths: readonly string[],
  send: (odd: OddRequest) => Promise<Reply>,
): Promise<ReadonlyMap<string, readonly FoundForm[]>> {
  const found = new Map<string, readonly FoundForm[]>()
  const seen = new Map<string, number>()
  const waiting = [...paths]
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const template = templateOf(path)
    const count = seen.get(template) ?? 0
    if (count >= PAGES_PER_TEMPLATE || found.has(path)) continue
    seen.set(template, count + 1)
    const reply = await send({ method: 'GET', path, expected: true })
    if (!reply.type.startsWith('text/html') || reply.status >= 400) continue
    const { links, forms } = readPage(reply.text, path)
    found.set(path, forms)
    waiting.push(...links)
  }
  return found
}

/** Path with ids replaced, and the names of its parameters. */
function templateOf(path: string): string {
  const url = new URL(path, 'http://hub')
  const names = [...new Set(url.searchParams.keys())].toSorted().join('&')
  const place = url.pathname
    .replaceAll(/(?:key|whk|dom|ext|pay)_\w+|[\da-f]{8}-[\da-f-]{27}|0x[\da-f]+/g, '{id}')
    .replace(/^(\/docs\/problems\/)\w+/, '$1{code}')
    .replace(/^(\/finance\/(?:accounts|entries)\/).*/, '$1{id}')
  return `${place}${names === '' ? '' : `?${names}`}`.slice(0, 120)
}

async function sendRequest(
  base: string,
  cookie: string,
  { method, path, body, type, headers }: OddRequest,
  number: number,
): Promise<Reply> {
  const started = elapsedMs()
  const { origin } = new URL(base)
  const response = await request(`${origin}${path}`, {
    method: method as 'GET',
    headers: {
      accept: 'text/html',
      cookie,
      origin,
      // Another network for each request, so that no rate limit applies.
      'x-forwarded-for': `10.${(number >> 8) & 255}.${number & 255}.1`,
      ...(type !== undefined && { 'content-type': type }),
      ...headers,
    },
    body: body ?? null,
    reset: true, // a stored connection may close just before it is used
    signal: AbortSignal.timeout(SLOW_MS * 2),
  }).catch((error: unknown) => error as Error)
  if (response instanceof Error) {
    return { status: 599, type: '', location: '', text: String(response), ms: 0 }
  }
  const text = await response.body.text()
  const headerOf = (name: string) => String(response.headers[name] ?? '')
  const ms = elapsedMs() - started
  return {
    status: response.statusCode,
    type: headerOf('content-type'),
    location: headerOf('location'),
    text,
    ms,
  }
}

/** Faults of a response to a visitor. */
function faultsOf(reply: Reply, odd: OddRequest, { foreign }: PageRole): readonly string[] {
  const { status, type, location, text, ms } = reply
  const shown = type.startsWith('text/html') ? text.replaceAll(SOURCE, ' ') : ''
  const machine = MACHINE_TEXT.exec(shown)
  const leaked = foreign.find((mark) => text.includes(mark) && !describeRequest(odd).includes(mark))
  const isOffSite = location !== '' && !/^\/(?!\/)/.test(location)
  return [
    ...(status >= 500 ? [`status ${status}: ${text.slice(0, 200)}`] : []),
    ...(odd.expected === true && isBroken(status, odd.path) ? [`a link leads to ${status}`] : []),
    ...(status >= 400 && status < 500 && !type.startsWith('text/html')
      ? [`an error as ${type}: ${text.slice(0, 150)}`]
      : []),
    ...(machine ? [`machine text "${shown.slice(machine.index, machine.index + 100)}"`] : []),
    ...(leaked === undefined ? [] : [`shows ${leaked} of another account`]),
    ...(isOffSite ? [`leads to ${location}`] : []),
    ...(ms > SLOW_MS ? [`takes ${Math.round(ms)} ms`] : []),
  ]
}

/** Links may lead to pages of staff; `tides` is a service with sales that the fixture lacks. */
const isBroken = (status: number, path: string): boolean =>
  status >= 400 && status !== 403 && !path.includes('service=tides')

const describeRequest = ({ method, path, body, type, headers }: OddRequest): string =>
  [method, path, type ?? '', headers ? JSON.stringify(headers) : '', body ?? '']
    .join(' ')
    .slice(0, 400)
