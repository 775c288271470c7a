import { createHmac } from 'node:crypto'
import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { enqueueMail } from '../mail/queue.ts'
import { makePerson } from './people.ts'
import { digest, type Opened, openSession, type Place } from './sessions.ts'

/** How long a link works. */
export const LINK_SECONDS = 900
/** Mails to one address in an hour, whoever asks … */
const ADDRESS_MAX = 5
/** … and from one network. */
const NETWORK_MAX = 30

/**
 * The token of a link, 256 bits. It follows from the link's id and a secret of the hub, so that no
 * table and no queue has to hold it until the mail is written.
 */
const tokenOf = (secret: Buffer, id: string): string =>
  createHmac('sha256', secret).update(id).digest('base64url')

/** Links in mails, by which people sign up and in (specification §5.2). */
export class MagicLinks {
  readonly #pool: Pool
  readonly #secret: Buffer

  /** @param secret 32 bytes, of no other use */
  constructor(pool: Pool, secret: Buffer) {
    this.#pool = pool
    this.#secret = secret
  }

  /**
   * Has a link sent to an address. Nobody learns whether the address has an account, nor whether
   * it has had too many mails already: then it gets none.
   * @param email in lower case
   * @throws Fault `rate_limited` when too many were asked for from this network
   */
  async request(email: string, network: string): Promise<void> {
    const id = prefixedId('lnk')
    await inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`mail:${network}`])
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`mail:${email}`])
      const { rows } = await client.query<{ here: number; there: number; expires: Date }>(
        `SELECT (SELECT count(*)::integer FROM hub.magic_link WHERE network = $1
             AND created_at > now() - interval '1 hour') AS here,
           (SELECT count(*)::integer FROM hub.magic_link WHERE email = $2
             AND created_at > now() - interval '1 hour') AS there,
           now() + make_interval(secs => $3) AS expires`,
        [network, email, LINK_SECONDS],
      )
      const { here, there, expires } = rows[0]!
      if (here >= NETWORK_MAX) throw tooMany()
      await client.query(
        `INSERT INTO hub.magic_link (id, hash, email, network, expires_at)
         VALUES ($1, $2, $3, $4, $5)`,
        [id, digest(tokenOf(this.#secret, id)), email, network, expires],
      )
      if (there >= ADDRESS_MAX) return
      await enqueueMail(client, { template: 'sign-in', recipient: email, subject: id, expires })
    })
  }

  /**
   * Whose link this is, without using it up: programs that look through mails follow links too.
   * @throws Fault `link_unknown`, `link_used`, `link_expired`
   */
  async look(token: string): Promise<{ readonly email: string; readonly expiresAt: Date }> {
    const { rows } = await this.#pool.query<LinkRow>(
      `SELECT email, expires_at AS "expiresAt", used_at IS NOT NULL AS used,
         expires_at <= now() AS expired
       FROM hub.magic_link WHERE hash = $1`,
      [digest(token)],
    )
    const [link] = rows
    if (!link) throw new Fault('link_unknown')
    if (link.used) throw new Fault('link_used')
    if (link.expired) throw new Fault('link_expired')
    return link
  }

  /**
   * Uses a link up, once, and opens a session of the address that it was sent to; an address that
   * is new gets an account.
   * @throws Fault `link_unknown`, `link_used`, `link_expired`
   */
  async confirm(token: string, place: Place): Promise<Opened> {
    await this.look(token)
    return inTransaction(this.#pool, async (client) => {
      const { rows } = await client.query<{ email: string }>(
        `UPDATE hub.magic_link SET used_at = now()
         WHERE hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING email`,
        [digest(token)],
      )
      if (!rows[0]) throw new Fault('link_used')
      return openSession(client, await makePerson(client, rows[0].email), place)
    })
  }

  /** The token of a link that is to be mailed; undefined for one of another secret. */
  async tokenFor(id: string): Promise<string | undefined> {
    const token = tokenOf(this.#secret, id)
    const { rowCount } = await this.#pool.query(
      'SELECT FROM hub.magic_link WHERE id = $1 AND hash = $2',
      [id, digest(token)],
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

const tooMany = (): Fault =>
  new Fault('rate_limited', 'Too many mails were asked for from this network.', {
    headers: { 'Retry-After': '3600' },
  })
