import { resolveTxt } from 'node:dns/promises'
import { setImmediate } from 'node:timers/promises'
import { withTimeout } from '../../clock.ts'
import { EgressError } from '../../egress/errors.ts'
import type { Egress, EgressResponse } from '../../egress/http.ts'

/** Places where a host publishes its owner's token, with their names. */
export const PROOF_PLACES = { file: 'File', meta: 'Meta tag', dns: 'DNS record' } as const
export type ProofMethod = keyof typeof PROOF_PLACES

export const PROOF_FILE = '/.well-known/agenthub.txt'
export const PROOF_NAME = 'agenthub-verification'
/** Label of the TXT record below the host. */
export const PROOF_LABEL = '_agenthub'

const PAGE_BYTES = 262_144
const SLICE_LENGTH = 16_384
/** Maximum nesting of a page's head. */
const HEAD_DEPTH_MAX = 64
const DNS_MS = 5_000
/** Redirects of a home page within its host, such as `/` to `/en/`. */
const REDIRECTS_MAX = 3

export interface ProofDeps {
  readonly egress: Pick<Egress, 'request'>
  /** @defaultValue the system's resolver */
  readonly resolveTxt?: (name: string) => Promise<readonly (readonly string[])[]>
}

/** Token of one version of the key. */
export interface ProofToken {
  readonly version: number
  readonly token: string
}

/** Place of a token that was found, and version of its key. */
export interface FoundProof {
  readonly method: ProofMethod
  readonly version: number
}

/** A place without the token. */
export interface MissingProof {
  readonly method: ProofMethod
  /** Sentence for the owner. */
  readonly problem: string
}

export type ProofSearch =
  | { readonly proof: FoundProof }
  | { readonly proof: undefined; readonly missing: readonly MissingProof[] }

/**
 * Looks for one of the tokens in a file, a meta tag of the front page and a TXT record; returns as
 * soon as one of these has it, otherwise what is wrong with each.
 */
export async function findProof(
  { egress, resolveTxt: resolve = resolveTxt }: ProofDeps,
  origin: string,
  tokens: readonly ProofToken[],
): Promise<ProofSearch> {
  const found = new AbortController()
  const site = { egress, origin, signal: found.signal }
  const { hostname } = new URL(origin)
  const places = [
    proofBy('file', tokens, () => readFile(site)),
    proofBy('meta', tokens, () => readHomePage(site)),
    proofBy('dns', tokens, () => readRecords(resolve, `${PROOF_LABEL}.${hostname}`)),
  ]
  const first = await Promise.any(places).catch(() => undefined)
  found.abort()
  if (first) return { proof: first }
  const results = await Promise.allSettled(places)
  const missing = results.flatMap((result) =>
    result.status === 'rejected' && result.reason instanceof ProofMissing ? [result.reason] : [],
  )
  return {
    proof: undefined,
    missing: missing.map(({ method, message: problem }) => ({ method, problem })),
  }
}

/** Reason why a place proves nothing. */
class ProofMissing extends Error {
  readonly method: ProofMethod

  constructor(method: ProofMethod, problem: string) {
    super(problem)
    this.method = method
  }
}

/** Contents of a place: how to look for a token in it, and what to say if it has none. */
interface Place {
  readonly shows: (token: string) => boolean | Promise<boolean>
  readonly otherwise: string
}

/** Rejects if the token is missing, so that `Promise.any` returns the first place that has it. */
async function proofBy(
  method: ProofMethod,
  tokens: readonly ProofToken[],
  read: () => Promise<Place>,
): Promise<FoundProof> {
  let place: Place
  try {
    place = await read()
  } catch (error) {
    throw new ProofMissing(method, error instanceof Unreadable ? error.message : UNREACHABLE)
  }
  for (const { token, version } of tokens) {
    if (await place.shows(token)) return { method, version }
  }
  throw new ProofMissing(method, place.otherwise)
}

/** A place that could not be read; the message is for the owner. */
class Unreadable extends Error {}

const UNREACHABLE = 'The destination could not be reached.'

interface Site {
  readonly egress: Pick<Egress, 'request'>
  readonly origin: string
  readonly signal: AbortSignal
}

async function readFile(site: Site): Promise<Place> {
  const response = await fetchFrom(site, `${site.origin}${PROOF_FILE}`)
  const text = textOf(response)
  return {
    shows: (token) => text.split(/\r?\n/).some((line) => line.trim() === token),
    otherwise: 'The file has no line that is the token.',
  }
}

/** Reads the home page, also if it is elsewhere on the host. */
async function readHomePage(site: Site): Promise<Place> {
  let url = `${site.origin}/`
  for (let hops = 0; ; hops += 1) {
    const response = await fetchFrom(site, url, hops < REDIRECTS_MAX)
    const next = locationOf(response, url)
    if (next === undefined) {
      const html = textOf(response)
      return {
        shows: (token) => hasMetaToken(html, token),
        otherwise: `The head of the page has no meta tag ${PROOF_NAME} with the token.`,
      }
    }
    url = next
  }
}

async function readRecords(
  resolve: NonNullable<ProofDeps['resolveTxt']>,
  name: string,
): Promise<Place> {
  const records = await withTimeout(DNS_MS, resolve(name)).catch(() => undefined)
  if (!records?.length) throw new Unreadable(`No TXT record of ${name} was found.`)
  const texts = records.map((strings) => strings.join(''))
  return {
    shows: (token) => texts.includes(`${PROOF_NAME}=${token}`),
    otherwise: `No TXT record of ${name} is the token.`,
  }
}

/**
 * Reads the beginning of a document.
 * @param mayMove true to return a redirect within the host instead of refusing it
 * @throws Unreadable
 */
async function fetchFrom(
  { egress, origin, signal }: Site,
  url: string,
  mayMove = false,
): Promise<EgressResponse> {
  const timeouts = { totalMs: 10_000 }
  try {
    const request = { url, method: 'GET', maxBytes: PAGE_BYTES, timeouts, signal, streams: true }
    const response = await egress.request(request)
    response.stream?.destroy()
    if (response.status !== 200) throw new Unreadable(`The site answered ${response.status}.`)
    return response
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const { response, code, message } = error
    const to = response && locationOf(response, url)
    if (code !== 'upstream_redirect' || to === undefined) throw new Unreadable(message)
    if (mayMove && new URL(to).origin === origin) return response!
    throw new Unreadable(redirectText(to, origin))
  }
}

/** Returns the absolute target of a redirect; undefined for other responses. */
function locationOf({ status, headers }: EgressResponse, url: string): string | undefined {
  const [location] = [headers['location']].flat()
  if (status < 300 || status >= 400 || location === undefined) return undefined
  return URL.parse(location, url)?.href
}

function redirectText(to: string, origin: string): string {
  const { hostname, href } = new URL(to)
  const moved = `The site redirects to ${href.slice(0, 200)}, which the hub does not follow.`
  return hostname === new URL(origin).hostname
    ? moved
    : `${moved} If your pages are there, add the domain ${hostname} instead.`
}

const textOf = ({ body }: EgressResponse): string => body.toString('utf8')

/**
 * Returns true if the head of a page has the token in `<meta name="agenthub-verification">`. Reads
 * in slices, between which other work may run.
 */
export async function hasMetaToken(html: string, token: string): Promise<boolean> {
  const head = { hasToken: false, isRead: false, depth: 0 }
  const { Parser } = await import('htmlparser2') // 30 modules that serving does not need
  const parser = new Parser({
    onopentag(tag, { name = '', content = '' }) {
      const isProof = tag === 'meta' && name.trim().toLowerCase() === PROOF_NAME
      head.hasToken ||= isProof && !head.isRead && content.trim() === token
      // The parser takes quadratic time for deep pages.
      head.isRead ||= head.hasToken || tag === 'body' || ++head.depth > HEAD_DEPTH_MAX
      if (head.isRead) parser.pause()
    },
    onclosetag: () => (head.depth -= 1),
  })
  for (let at = 0; at < html.length && !head.isRead; at += SLICE_LENGTH) {
    parser.write(html.slice(at, at + SLICE_LENGTH))
    await setImmediate()
  }
  return head.hasToken
}
