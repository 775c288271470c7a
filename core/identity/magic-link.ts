import { createHmac } from 'node:crypto'
import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { enqueueMail } from '../mail/queue.ts'
import { findOrCreatePerson } from './people.ts'
import { hashToken, type OpenedSession, openSession, type SessionOrigin } from './sessions.ts'

/** Lifetime of a link. */
export const LINK_SECONDS = 900
/** Maximum mails per hour to one address. */
const LINKS_PER_ADDRESS = 5
/** Maximum links per hour requested from one network. */
const LINKS_PER_NETWORK = 30

/** Derives the 256-bit token of a link from id and secret, so that it is stored nowhere. */
const deriveToken = (secret: Buffer, id: string): string =>
  createHmac('sha256', secret).update(id).digest('base64url')

/** Emailed sign-in links. */
export class MagicLinks {
  readonly #pool: Pool
  readonly #secret: Buffer

  /** @param secret 32 bytes, used for nothing else */
  constructor(pool: Pool, secret: Buffer) {
    this.#pool = pool
    this.#secret = secret
  }

  /**
   * Queues a link to an address. An address over its limit gets no mail; the result reveals
   * neither that nor whether the address has an account.
   * @param email lower case
   * @throws Fault `rate_limited` if the network requested too many links
   */
  async request(email: string, network: string): Promise<void> {
    const id = prefixedId('lnk')
    await inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`mail:${network}`])
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`mail:${email}`])
      const { rows } = await client.query<{ byNetwork: number; byAddress: number; expires: Date }>(
        `SELECT (SELECT count(*)::integer FROM hub.magic_link WHERE network = $1
             AND created_at > now() - interval '1 hour') AS "byNetwork",
           (SELECT count(*)::integer FROM hub.magic_link WHERE email = $2
             AND created_at > now() - interval '1 hour') AS "byAddress",
           now() + make_interval(secs => $3) AS expires`,
        [network, email, LINK_SECONDS],
      )
      const { byNetwork, byAddress, expires } = rows[0]!
      if (byNetwork >= LINKS_PER_NETWORK) throw rateLimited()
      await client.query(
        `INSERT INTO hub.magic_link (id, hash, email, network, expires_at)
         VALUES ($1, $2, $3, $4, $5)`,
        [id, hashToken(deriveToken(this.#secret, id)), email, network, expires],
      )
      if (byAddress >= LINKS_PER_ADDRESS) return
      await enqueueMail(client, { template: 'sign-in', recipient: email, subject: id, expires })
    })
  }

  /**
   * Returns address and expiry of a link without using it, because mail scanners follow links too.
   * @throws Fault `link_unknown`, `link_used`, `link_expired`
   */
  async inspect(token: string): Promise<{ readonly email: string; readonly expiresAt: Date }> {
    const { rows } = await this.#pool.query<LinkRow>(
      `SELECT email, expires_at AS "expiresAt", used_at IS NOT NULL AS used,
         expires_at <= now() AS expired
       FROM hub.magic_link WHERE hash = $1`,
      [hashToken(token)],
    )
    const [link] = rows
    if (!link) throw new Fault('link_unknown')
    if (link.used) throw new Fault('link_used')
    if (link.expired) throw new Fault('link_expired')
    return link
  }

  /**
   * Uses a link, once, and opens a session for its address; creates an account for a new address.
   * @throws Fault `link_unknown`, `link_used`, `link_expired`
   */
  async confirm(token: string, origin: SessionOrigin): Promise<OpenedSession> {
    await this.inspect(token)
    return inTransaction(this.#pool, async (client) => {
      const { rows } = await client.query<{ email: string }>(
        `UPDATE hub.magic_link SET used_at = now()
         WHERE hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING email`,
        [hashToken(token)],
      )
      if (!rows[0]) throw new Fault('link_used')
      return openSession(client, await findOrCreatePerson(client, rows[0].email), origin)
    })
  }

  /** Returns the token of a link to be mailed; undefined if another secret derived it. */
  async tokenFor(id: string): Promise<string | undefined> {
    const token = deriveToken(this.#secret, id)
    const { rowCount } = await this.#pool.query(
      'SELECT FROM hub.magic_link WHERE id = $1 AND hash = $2',
      [id, hashToken(token)],
    )
    return rowCount === 1 ? token : undefined
  }
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
