import { createHmac } from 'node:crypto'
import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { enqueueMail } from '../mail/queue.ts'
import type { PurposeKeys } from '../secret-keys/purpose-keys.ts'
import { type CredentialGate, OPEN_GATE } from './credential-gate.ts'
import { rememberDevice } from './devices.ts'
import { findOrCreatePerson } from './people.ts'
import {
  hashToken,
  type OpenedSession,
  openSession,
  type Session,
  type SessionOrigin,
} from './sessions.ts'

/** Lifetime of a link. */
export const LINK_SECONDS = 900
/**
 * Maximum emails per hour to one address. Browsers that have signed in before have limits of their
 * own, so that strangers, who are counted by network and in total, cannot use up their emails.
 */
const MAILS = { perRequester: 5, toStrangers: 15, toKnownDevices: 20 } as const
/** Maximum links per hour requested from one network. */
const LINKS_PER_NETWORK = 30

/** Derives the 256-bit token of a link from id and secret, so that it is stored nowhere. */
const deriveToken = (secret: Buffer, id: string): string =>
  createHmac('sha256', secret).update(id).digest('base64url')

/** Emailed sign-in links. */
export class MagicLinks {
  readonly #pool: Pool
  readonly #gate: Gate
  readonly #keys: PurposeKeys

  /**
   * @param keys of 32 bytes, used for nothing else
   * @param gate limits lookups of unknown tokens; default: no limits
   */
  constructor(pool: Pool, keys: PurposeKeys, gate: Gate = OPEN_GATE) {
    this.#pool = pool
    this.#gate = gate
    this.#keys = keys
  }

  /**
   * Queues a link to an address. An address over its limit gets no email; the result reveals
   * neither that nor whether the address has an account.
   * @param email lower case
   * @param device name of the browser, if it has signed in to this address before
   * @throws Fault `rate_limited` if the network requested too many links
   */
  async request(email: string, network: string, device?: string): Promise<void> {
    const id = prefixedId('lnk')
    const { version, material } = this.#keys.current
    await inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`mail:${network}`])
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`mail:${email}`])
      const { rows } = await client.query<LinkCounts>(
        `SELECT (SELECT count(*)::integer FROM hub.magic_link WHERE network = $1
             AND device IS NULL AND created_at > now() - interval '1 hour') AS "byNetwork",
           now() + make_interval(secs => $3) AS expires, m.*
         FROM (SELECT count(*) FILTER (WHERE CASE WHEN $4::text IS NULL THEN network = $1
               ELSE device = $4 END)::integer AS "byRequester",
             count(*)::integer AS "byKind"
           FROM hub.magic_link WHERE email = $2 AND mailed AND (device IS NULL) = ($4 IS NULL)
             AND created_at > now() - interval '1 hour') m`,
        [network, email, LINK_SECONDS, device ?? null],
      )
      const { byNetwork, byRequester, byKind, expires } = rows[0]!
      if (device === undefined && byNetwork >= LINKS_PER_NETWORK) throw rateLimited()
      const maximum = device === undefined ? MAILS.toStrangers : MAILS.toKnownDevices
      const mailed = byRequester < MAILS.perRequester && byKind < maximum
      await client.query(
        `INSERT INTO hub.magic_link
           (id, hash, email, network, expires_at, key_version, device, mailed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          id,
          hashToken(deriveToken(material, id)),
          email,
          network,
          expires,
          version,
          device ?? null,
          mailed,
        ],
      )
      if (!mailed) return
      await enqueueMail(client, { template: 'sign-in', recipient: email, subject: id, expires })
    })
  }

  /**
   * Returns address and expiry of a link without using it, because mail scanners follow links too.
   * @throws Fault `link_unknown`, `link_used`, `link_expired`, `authentication_limited`
   */
  async inspect(
    token: string,
    network: string,
  ): Promise<{ readonly email: string; readonly expiresAt: Date }> {
    const hash = hashToken(token)
    const link = await this.#gate.find(hash, network, () => this.#find(hash))
    if (!link) throw new Fault('link_unknown')
    if (link.used) throw new Fault('link_used')
    if (link.expired) throw new Fault('link_expired')
    return link
  }

  /**
   * Uses a link, once, and opens a session for its address; creates an account for a new address.
   * @param replaced session of the browser, which ends if it is of the same person
   * @throws Fault `link_unknown`, `link_used`, `link_expired`, `authentication_limited`
   */
  async confirm(
    token: string,
    origin: SessionOrigin,
    replaced?: Session,
  ): Promise<OpenedSession & { readonly device: string }> {
    await this.inspect(token, origin.network)
    return inTransaction(this.#pool, async (client) => {
      const { rows } = await client.query<{ email: string }>(
        `UPDATE hub.magic_link SET used_at = now()
         WHERE hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING email`,
        [hashToken(token)],
      )
      if (!rows[0]) throw new Fault('link_used')
      const person = await findOrCreatePerson(client, rows[0].email)
      const device = await rememberDevice(client, person)
      return { ...(await openSession(client, person, origin, replaced)), device }
    })
  }

  async #find(hash: Buffer): Promise<LinkRow | undefined> {
    const { rows } = await this.#pool.query<LinkRow>(
      `SELECT email, expires_at AS "expiresAt", used_at IS NOT NULL AS used,
         expires_at <= now() AS expired
       FROM hub.magic_link WHERE hash = $1`,
      [hash],
    )
    return rows[0]
  }

  /** Returns the token of a link to be mailed; undefined if the link or its key is gone. */
  async tokenFor(id: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ hash: Buffer; version: number }>(
      'SELECT hash, key_version AS version FROM hub.magic_link WHERE id = $1',
      [id],
    )
    const [link] = rows
    const key = link && (await this.#keys.find(link.version).catch(() => undefined))
    if (!key) return undefined
    const token = deriveToken(key.material, id)
    return hashToken(token).equals(link.hash) ? token : undefined
  }
}

type Gate = Pick<CredentialGate, 'find'>

interface LinkCounts {
  readonly byNetwork: number
  /** Emails to this network or device. */
  readonly byRequester: number
  /** Emails to all strangers, or to all known devices. */
  readonly byKind: number
  readonly expires: Date
}

interface LinkRow {
  readonly email: string
  readonly expiresAt: Date
  readonly used: boolean
  readonly expired: boolean
}

const rateLimited = (): Fault =>
  new Fault(
    'rate_limited',
    'Too many sign-in links were requested from this network. Try again in an hour.',
    {
      headers: { 'Retry-After': '3600' },
    },
  )
