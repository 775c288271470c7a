import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

/**
 * Imitation of the official journal's site, as far as its behavior is known: a search with page
 * tokens that continue one page past the last notice, documents rendered on request and soon
 * discarded, daily packages.
 */
export interface TedServer {
  readonly port: number
  /** Received requests, in order. */
  readonly requests: readonly ReceivedRequest[]
  /** Adds a notice to a day. */
  publish(issue: Issue): void
  close(): Promise<void>
}

export interface Issue {
  readonly day: string
  readonly ojs: string
  readonly notices: readonly Published[]
}

export interface Published {
  readonly number: string
  readonly xml: string
  readonly uuid?: string
  readonly version?: string
  /** Excluded from the search because it is not about energy. */
  readonly other?: boolean
}

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly userAgent: string
  /** Time of the request, in ms. */
  readonly at: number
}

/** Response that replaces the usual one. */
export interface Odd {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Number of bytes after which the connection closes. */
  readonly cutAt?: number
}

export interface Behavior {
  /** Returns a response that replaces the usual one; `before` lists all earlier requests. */
  readonly odd?: (request: ReceivedRequest, before: readonly ReceivedRequest[]) => Odd | undefined
  /** Number of 202 responses before a document is ready. @defaultValue 1 */
  readonly rendering?: number
  readonly port?: number
}

const FIELDS = new Set(['publication-number', 'publication-date', 'ojs-number', 'notice-version'])
const KEYS = new Set(['query', 'fields', 'limit', 'scope', 'paginationMode', 'iterationNextToken'])

export async function startTed(issues: Issue[], behavior: Behavior = {}): Promise<TedServer> {
  const requests: ReceivedRequest[] = []
  const looks = new Map<string, number>()
  const tokens = new Map<string, { readonly query: string; readonly from: number }>()
  const usual = async ({ path, body }: ReceivedRequest): Promise<Odd> => {
    if (path === '/v3/notices/search') return search(issues, tokens, body)
    const [, number = ''] = /^\/en\/notice\/(\d+-\d{4})\/xml$/.exec(path) ?? []
    if (number !== '') return document(issues, looks, number, behavior.rendering ?? 1)
    const [, year, ordinal] = /^\/packages\/daily\/(\d{4})(\d{5})$/.exec(path) ?? []
    const issue = issues.find(({ ojs }) => ojs === `${Number(ordinal)}/${year}`)
    return issue ? { body: await packageOf(issue) } : { status: 404, body: 'not found' }
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await buffer(request)).toString('utf8')
    const { method = '', url: path = '' } = request
    const userAgent = request.headers['user-agent'] ?? ''
    const one = { method, path, body, userAgent, at: performance.now() }
    const before = [...requests]
    requests.push(one)
    send(response, behavior.odd?.(one, before) ?? (await usual(one)))
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => {
    server.listen(behavior.port ?? 0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    publish: (issue) => void issues.push(issue),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

function send(response: ServerResponse, { status = 200, headers, body = '', cutAt }: Odd): void {
  const bytes = Buffer.from(body)
  response.writeHead(status, { ...headers, 'content-length': bytes.length })
  if (cutAt === undefined) response.end(bytes)
  else response.write(bytes.subarray(0, cutAt), () => response.destroy())
}

const json = (status: number, value: unknown): Odd => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

function search(
  issues: readonly Issue[],
  tokens: Map<string, { readonly query: string; readonly from: number }>,
  body: string,
): Odd {
  const search = JSON.parse(body) as Record<string, unknown> & { query: string; limit: number }
  const invalid = (field: string, message: string) =>
    json(400, { message: 'Validation error', error: [{ objectName: 'request', field, message }] })
  const stranger = Object.keys(search).find((key) => !KEYS.has(key))
  if (stranger !== undefined) return invalid(stranger, 'is not known')
  const fields = search['fields'] as string[]
  if (!Array.isArray(fields) || fields.length === 0) return invalid('fields', 'must not be empty')
  if (fields.some((field) => !FIELDS.has(field))) return invalid('fields', 'unsupported value')
  if (!(search.limit >= 1 && search.limit <= 250)) return invalid('limit', 'must be at most 250')
  const token = search['iterationNextToken'] as string | undefined
  const cursor = token === undefined ? { query: search.query, from: 0 } : tokens.get(token)
  if (cursor?.query !== search.query) return json(500, { message: 'internal error' })
  const all = found(issues, search.query)
  const page = all.slice(cursor.from, cursor.from + search.limit)
  const next = `token-${tokens.size + 1}`
  tokens.set(next, { query: search.query, from: cursor.from + page.length })
  return json(200, {
    notices: page,
    totalNoticeCount: all.length,
    iterationNextToken: page.length > 0 ? next : null,
    timedOut: false,
  })
}

/** Returns the results of a query, with links like the real site. */
function found(issues: readonly Issue[], query: string) {
  const [, day] = /publication-date=(\d{8})/.exec(query) ?? []
  const [, uuid] = /notice-identifier=([0-9a-f-]{36})/.exec(query) ?? []
  return issues.flatMap((issue) =>
    issue.notices
      .filter(({ other }) => !other)
      .filter((notice) => issue.day.replaceAll('-', '') === day || notice.uuid === uuid)
      .filter(() => day !== undefined || uuid !== undefined)
      .map(({ number, version }) => ({
        'publication-number': number,
        'publication-date': `${issue.day}+01:00`,
        'ojs-number': issue.ojs,
        ...(version !== undefined && { 'notice-version': version }),
        links: { xml: { MUL: `https://ted.test/en/notice/${number}/xml` } },
      })),
  )
}

/** Responds 202 while the document is rendered, then sends it once. */
function document(
  issues: readonly Issue[],
  looks: Map<string, number>,
  number: string,
  rendering: number,
): Odd {
  const notice = issues.flatMap(({ notices }) => notices).find((one) => one.number === number)
  if (!notice) return { status: 404, body: '<!doctype html><html>not found</html>' }
  const seen = looks.get(number) ?? 0
  looks.set(number, seen >= rendering ? 0 : seen + 1)
  return seen >= rendering ? { body: notice.xml } : { status: 202 }
}

/** Daily package: `20260817_157/00566194_2026.xml` …, as tar in gzip. */
export async function packageOf({ day, ojs, notices }: Issue): Promise<Buffer> {
  const folder = `${day.replaceAll('-', '')}_${ojs.split('/')[0]}`
  return gzipSync(
    await tarOf(
      notices.map(({ number, xml }) => {
        const [ordinal = '', year = ''] = number.split('-')
        return { name: `${folder}/${ordinal.padStart(8, '0')}_${year}.xml`, body: xml }
      }),
    ),
  )
}

export async function tarOf(
  members: readonly { readonly name: string; readonly body: string; readonly type?: 'symlink' }[],
): Promise<Buffer> {
  const archive = pack()
  for (const { name, body, type } of members) {
    archive.entry({ name, ...(type && { type, linkname: '/etc/passwd' }) }, type ? '' : body)
  }
  archive.finalize()
  return buffer(archive)
}
