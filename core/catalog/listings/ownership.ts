import { createHmac } from 'node:crypto'
import { resolveTxt } from 'node:dns/promises'
import type { Pool } from 'pg'
import { within } from '../../clock.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { Egress } from '../../egress/http.ts'

/** Where a host shows the token of its owner. */
export type ProofMethod = 'file' | 'meta' | 'dns'

/** TXT records of a name, each joined of its strings. Rejects when there are none. */
export type TxtResolver = (name: string) => Promise<readonly (readonly string[])[]>

export interface OwnershipPorts {
  readonly pool: Pool
  readonly egress: Egress
  /** 32 bytes that only the hub knows. */
  readonly secret: Buffer
  /** @defaultValue the resolver of the system */
  readonly resolveTxt?: TxtResolver
}

export const PROOF_FILE = '/.well-known/agenthub.txt'
export const PROOF_NAME = 'agenthub-verification'
/** The TXT record is one of this name below the host. */
export const PROOF_LABEL = '_agenthub'

const PAGE_BYTES = 262_144
const DNS_MS = 5_000

/**
 * What somebody shows to prove that a host is theirs. It follows from the two, so that nothing is
 * kept before it is proven, and the token of one does not serve another.
 */
export const proofToken = (secret: Buffer, principal: string, host: string): string =>
  createHmac('sha256', secret).update(`${principal} ${host}`).digest('base64url')

/**
 * Looks for the token in a file, in a meta tag of the front page, and in a TXT record of the host,
 * and waits for no more of them than prove it.
 * @returns how it was shown; undefined when it was nowhere
 */
export async function findProof(
  { egress, resolveTxt: resolve = resolveTxt }: OwnershipPorts,
  origin: string,
  token: string,
): Promise<ProofMethod | undefined> {
  const { hostname } = new URL(origin)
  const found = new AbortController()
  const textAt = (path: string) => fetchText(egress, `${origin}${path}`, found.signal)
  const ways = [
    shownBy('file', textAt(PROOF_FILE), (text) => isLine(text, token)),
    shownBy('meta', textAt('/'), (page) => metaTags(page).includes(token)),
    shownBy('dns', within(DNS_MS, resolve(`${PROOF_LABEL}.${hostname}`)), (records = []) =>
      records.some((strings) => strings.join('') === `${PROOF_NAME}=${token}`),
    ),
  ]
  const first = await Promise.any(ways).catch(() => undefined)
  found.abort()
  return first
}

/** Rejects where the token is not, so that the first way that shows it counts. */
async function shownBy<Place>(
  method: ProofMethod,
  place: Promise<Place>,
  shows: (place: Place) => boolean,
): Promise<ProofMethod> {
  if (shows(await place)) return method
  throw new Error(`not shown by ${method}`)
}

async function fetchText(egress: Egress, url: string, signal: AbortSignal): Promise<string> {
  const timeouts = { totalMs: 10_000 }
  const request = { url, method: 'GET', maxBytes: PAGE_BYTES, timeouts, signal }
  const { status, body } = await egress.request(request)
  return status === 200 ? body.toString('utf8') : ''
}

const isLine = (text: string, token: string): boolean =>
  text.split(/\r?\n/).some((line) => line.trim() === token)

/** Contents of `<meta name="agenthub-verification">` in the head of a page. */
function metaTags(html: string): string[] {
  const head = html.replace(/<!--[\s\S]*?-->/g, '').split(/<body[\s>]/i)[0] ?? ''
  return [...head.matchAll(/<meta\s[^>]*>/gi)].flatMap(([tag]) => {
    const isOurs = /\sname\s*=\s*["']?agenthub-verification["'\s/>]/i.test(tag)
    const [, content = ''] = /\scontent\s*=\s*["']?([\w-]{43})["'\s/>]/i.exec(tag) ?? []
    return isOurs && content !== '' ? [content] : []
  })
}

/** Notes a proof; the newest one counts, since hosts change hands. */
export async function recordOwner(
  pool: Pool,
  host: string,
  principal: string,
  method: ProofMethod,
): Promise<void> {
  await pool.query(
    `INSERT INTO hub.listing_owner (host, principal, method) VALUES ($1, $2, $3)
     ON CONFLICT (host) DO UPDATE SET principal = $2, method = $3, proven_at = now()`,
    [host, principal, method],
  )
}

export interface Owner {
  readonly principal: string
  readonly method: ProofMethod
  readonly provenAt: Date
  readonly optedOutAt: Date | null
  readonly reason: string | null
}

export async function ownerOf(pool: Pool, host: string): Promise<Owner | undefined> {
  const { rows } = await pool.query<Owner>(
    `SELECT principal, method, proven_at AS "provenAt", opted_out_at AS "optedOutAt",
       opt_out_reason AS reason FROM hub.listing_owner WHERE host = $1`,
    [host],
  )
  return rows[0]
}

/**
 * Takes every listing of a host out of the catalogue, or lets it come back. Tombstones tell that
 * the owner wanted it; no source brings them back.
 * @returns how many listings it was about; undefined when the host is not the principal's
 */
export function optOut(
  pool: Pool,
  { host, principal }: { readonly host: string; readonly principal: string },
  { out, reason }: { readonly out: boolean; readonly reason: string | undefined },
): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const { rowCount: owned } = await client.query(
      `UPDATE hub.listing_owner SET opted_out_at = CASE WHEN $3 THEN now() END,
         opt_out_reason = CASE WHEN $3 THEN $4 END WHERE host = $1 AND principal = $2`,
      [host, principal, out, reason ?? null],
    )
    if (owned !== 1) return undefined
    const { rowCount } = await client.query(
      `UPDATE hub.listing SET state = 'unlisted',
         reason = CASE WHEN $2 THEN 'opted_out' ELSE 'unverified' END,
         removed_at = CASE WHEN $2 THEN now() END,
         next_probe_at = CASE WHEN $2 THEN NULL ELSE now() END
       WHERE host = $1 AND ($2 OR reason = 'opted_out')`,
      [host, out],
    )
    return rowCount ?? 0
  })
}
