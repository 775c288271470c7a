import { createHmac } from 'node:crypto'
import { resolveTxt } from 'node:dns/promises'
import { setImmediate } from 'node:timers/promises'
import type { Pool } from 'pg'
import { withTimeout } from '../../clock.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { Egress } from '../../egress/http.ts'
import type { PurposeKeys } from '../../secret-keys/purpose-keys.ts'

/** Place where a host publishes its owner's token. */
export type ProofMethod = 'file' | 'meta' | 'dns'

export interface OwnershipDeps {
  readonly pool: Pool
  readonly egress: Egress
  /** Keys from which the tokens derive. */
  readonly proofKeys: PurposeKeys
  /** @defaultValue the system's resolver */
  readonly resolveTxt?: (name: string) => Promise<readonly (readonly string[])[]>
}

export const PROOF_FILE = '/.well-known/agenthub.txt'
export const PROOF_NAME = 'agenthub-verification'
/** Label of the TXT record below the host. */
export const PROOF_LABEL = '_agenthub'

const PAGE_BYTES = 262_144
const SLICE_LENGTH = 16_384
/** Maximum nesting of a page's head. */
const HEAD_DEPTH_MAX = 64
const DNS_MS = 5_000

/**
 * Derives the token that proves ownership of a host. It depends on principal and host only, so that
 * nothing is stored before the proof, and no token is valid for another principal.
 */
export const proofToken = (secret: Buffer, principal: string, host: string): string =>
  createHmac('sha256', secret).update(`${principal} ${host}`).digest('base64url')

/** Token of one version of the key. */
export interface ProofToken {
  readonly version: number
  readonly token: string
}

/** Returns the accepted tokens of a principal for a host: the one to publish now is the first. */
export const proofTokens = (
  { valid }: PurposeKeys,
  principal: string,
  host: string,
): readonly [ProofToken, ...ProofToken[]] => {
  const [first, ...others] = valid.map(({ version, material }) => {
    return { version, token: proofToken(material, principal, host) }
  })
  return [first!, ...others]
}

/** Place of a token that was found, and version of its key. */
export interface FoundProof {
  readonly method: ProofMethod
  readonly version: number
}

/**
 * Looks for one of the tokens in a file, a meta tag of the front page and a TXT record; returns as
 * soon as one of these has it.
 * @returns undefined if none of the tokens is in any place
 */
export async function findProof(
  { egress, resolveTxt: resolve = resolveTxt }: OwnershipDeps,
  origin: string,
  tokens: readonly ProofToken[],
): Promise<FoundProof | undefined> {
  const { hostname } = new URL(origin)
  const found = new AbortController()
  const textAt = (path: string) => fetchText(egress, `${origin}${path}`, found.signal)
  const proofs = [
    proofBy('file', textAt(PROOF_FILE), tokens, (text, token) => hasLine(text, token)),
    proofBy('meta', textAt('/'), tokens, hasMetaToken),
    proofBy(
      'dns',
      withTimeout(DNS_MS, resolve(`${PROOF_LABEL}.${hostname}`)),
      tokens,
      (records = [], token) =>
        records.some((strings) => strings.join('') === `${PROOF_NAME}=${token}`),
    ),
  ]
  const first = await Promise.any(proofs).catch(() => undefined)
  found.abort()
  return first
}

/** Rejects if the token is missing, so that `Promise.any` returns the first place that has it. */
async function proofBy<Place>(
  method: ProofMethod,
  place: Promise<Place>,
  tokens: readonly ProofToken[],
  shows: (place: Place, token: string) => boolean | Promise<boolean>,
): Promise<FoundProof> {
  const contents = await place
  for (const { token, version } of tokens) {
    if (await shows(contents, token)) return { method, version }
  }
  throw new Error(`no proof by ${method}`)
}

async function fetchText(egress: Egress, url: string, signal: AbortSignal): Promise<string> {
  const timeouts = { totalMs: 10_000 }
  const request = { url, method: 'GET', maxBytes: PAGE_BYTES, timeouts, signal }
  const { status, body } = await egress.request(request)
  return status === 200 ? body.toString('utf8') : ''
}

const hasLine = (text: string, token: string): boolean =>
  text.split(/\r?\n/).some((line) => line.trim() === token)

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

/** Stores a proof. The newest one counts, because hosts change owners. */
export async function recordHostOwner(
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

export interface HostOwner {
  readonly principal: string
  readonly method: ProofMethod
  readonly provenAt: Date
  readonly optedOutAt: Date | null
  readonly reason: string | null
}

export async function findHostOwner(pool: Pool, host: string): Promise<HostOwner | undefined> {
  const { rows } = await pool.query<HostOwner>(
    `SELECT principal, method, proven_at AS "provenAt", opted_out_at AS "optedOutAt",
       opt_out_reason AS reason FROM hub.listing_owner WHERE host = $1`,
    [host],
  )
  return rows[0]
}

/**
 * Removes all listings of a host from the catalog, or restores them. Removed listings stay as
 * tombstones, so that no source lists them again.
 * @returns number of listings; undefined if the principal does not own the host
 */
export function setOptOut(
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
       WHERE id IN (SELECT id FROM hub.listing WHERE host = $1 AND ($2 OR reason = 'opted_out')
         ORDER BY id FOR NO KEY UPDATE)`,
      [host, out],
    )
    return rowCount ?? 0
  })
}
