import type { Pool } from 'pg'
import { asBuffer } from '../bytes.ts'
import { seal, unseal } from '../crypto/sealing.ts'
import { ASYNC_COMMIT, inTransaction } from '../db/transaction.ts'
import type { PurposeKeys } from '../secret-keys/purpose-keys.ts'

/** Response to a paid call, as sent or meant to be sent. */
export interface StoredResponse {
  /** Id of the call. */
  readonly call: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Encrypted response, as `hub.kept_answer` stores it. */
export interface SealedResponse {
  /** Id of the call. */
  readonly call: string
  readonly sealed: Buffer
  readonly keyVersion: number
}

const REPLACE = 'UPDATE SET sealed = excluded.sealed, key_version = excluded.key_version'

/**
 * SQL that stores a sealed response for a day.
 * @param values SQL of its id, ciphertext and key version
 * @param from clause of the rows that must be there, one for the response
 * @param onConflict action if a response is stored under the id @defaultValue replaces it
 */
export const insertResponse = (
  [id, sealed, keyVersion]: readonly [string, string, string],
  from: string,
  onConflict = REPLACE,
): string =>
  `INSERT INTO hub.kept_answer (id, sealed, key_version, expires_at)
   SELECT ${id}, ${sealed}, ${keyVersion}, now() + interval '24 hours' ${from}
   ON CONFLICT (id) DO ${onConflict}`

/** Maximum length of a stored body. */
export const STORED_BYTES_MAX = 1_048_576

/** Stores paid responses, encrypted, for a day, so that callers can request them again. */
export class StoredResponses {
  readonly #pool: Pool
  readonly #keys: PurposeKeys

  /** @param keys of 32 bytes */
  constructor(pool: Pool, keys: PurposeKeys) {
    this.#pool = pool
    this.#keys = keys
  }

  /** Stores a response of at most 1 MiB. Returns false for larger ones and streams. */
  async store(id: string, response: StoredResponse): Promise<boolean> {
    return (await this.#insert(id, response, '')) !== undefined
  }

  /** Encrypts a response to be stored. Returns undefined for a stream and above 1 MiB. */
  seal(id: string, { call, status, headers, body }: StoredResponse): SealedResponse | undefined {
    const bytes = storableBytes(body)
    if (bytes === undefined) return undefined
    const isRaw = body instanceof Uint8Array
    const head = Buffer.from(JSON.stringify({ call, status, headers, isRaw }))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(head.length)
    const { version, material } = this.#keys.current
    const sealed = seal(material, id, Buffer.concat([length, head, bytes]))
    return { call, sealed, keyVersion: version }
  }

  /**
   * Stores the response of a call that a payment has paid for, in place of that of an attempt whose
   * payment pays for this call now.
   * @returns false if the payment pays for another call; undefined if it is too large, or a stream
   */
  async storePaid(claim: string, response: StoredResponse): Promise<boolean | undefined> {
    const from = 'FROM hub.payment_claim WHERE id = $1 AND call = $4 FOR UPDATE' // after a takeover
    const inserted = await this.#insert(claim, response, from, REPLACE, [response.call])
    return inserted === undefined ? undefined : inserted === 1
  }

  /**
   * Stores the response of an attempt, which becomes durable only with the charge that follows.
   * @returns false if another attempt has taken the request over: this one must not be charged
   */
  async storeAttempt(response: StoredResponse): Promise<boolean> {
    const { call } = response
    const from = `FROM ${ASYNC_COMMIT} WHERE NOT EXISTS (
      SELECT FROM hub.abandoned_attempt WHERE call = $1)`
    const rowCount = await this.#insert(call, response, from)
    if (rowCount === 1) return true
    const { rowCount: abandoned } = await this.#pool.query(
      'SELECT FROM hub.abandoned_attempt WHERE call = $1',
      [call],
    )
    return abandoned === 0
  }

  /** Stores the response of a charged attempt, unless it is stored. */
  async storeAgain(response: StoredResponse): Promise<void> {
    const { call } = response
    const stored = await this.#pool.query('SELECT FROM hub.kept_answer WHERE id = $1', [call])
    if (stored.rowCount === 0) await this.store(call, response)
  }

  /** Returns the number of rows inserted; undefined if the response is not stored. */
  async #insert(
    id: string,
    response: StoredResponse,
    from: string,
    onConflict = 'NOTHING',
    more: readonly unknown[] = [],
  ): Promise<number | null | undefined> {
    const row = this.seal(id, response)
    if (row === undefined) return undefined
    const { rowCount } = await this.#pool.query(
      insertResponse(['$1', '$2', '$3'], from, onConflict),
      [id, row.sealed, row.keyVersion, ...more],
    )
    return rowCount
  }

  /** Finds a response; undefined if none was stored or it expired. */
  async find(id: string): Promise<StoredResponse | undefined> {
    const { rows } = await this.#pool.query<{ sealed: Buffer; version: number }>(
      `SELECT sealed, key_version AS version FROM hub.kept_answer
       WHERE id = $1 AND expires_at > now()`,
      [id],
    )
    const [row] = rows
    if (!row) return undefined
    const { material } = await this.#keys.find(row.version)
    const plain = unseal(material, id, row.sealed)
    const split = 4 + plain.readUInt32BE()
    const { isRaw, ...head } = JSON.parse(plain.toString('utf8', 4, split))
    const bytes = plain.subarray(split)
    return { ...head, body: isRaw ? bytes : JSON.parse(bytes.toString('utf8')) }
  }
}

const RESEAL_BATCH = 50

/**
 * Re-encrypts responses of older key versions with the current one, so that those can be retired.
 * May be interrupted and repeated. @returns the number of responses
 */
export async function resealResponses(pool: Pool, keys: PurposeKeys): Promise<number> {
  const { version, material } = keys.current
  for (let count = 0, after = NO_ID; ; ) {
    const rows = await inTransaction(pool, async (client) => {
      const { rows: found } = await client.query<{ id: string; sealed: Buffer; from: number }>(
        `SELECT id, sealed, key_version AS "from" FROM hub.kept_answer
         WHERE key_version <> $1 AND id > $2 AND expires_at > now()
         ORDER BY id LIMIT ${RESEAL_BATCH} FOR UPDATE`,
        [version, after],
      )
      for (const { id, sealed, from } of found) {
        const plain = unseal((await keys.find(from)).material, id, sealed)
        await client.query(
          'UPDATE hub.kept_answer SET sealed = $2, key_version = $3 WHERE id = $1',
          [id, seal(material, id, plain), version],
        )
      }
      return found
    })
    count += rows.length
    after = rows.at(-1)?.id ?? after
    if (rows.length < RESEAL_BATCH) return count
  }
}

const NO_ID = '00000000-0000-0000-0000-000000000000'

/** Returns true if a paid response with this body is stored: no stream, and at most 1 MiB. */
export const isStorable = (body: unknown): boolean => storableBytes(body) !== undefined

function storableBytes(body: unknown): Buffer | undefined {
  const isStream = typeof body === 'object' && body !== null && 'pipe' in body
  if (isStream) return undefined
  const isRaw = body instanceof Uint8Array
  const bytes = isRaw ? asBuffer(body) : Buffer.from(JSON.stringify(body ?? null))
  return bytes.length <= STORED_BYTES_MAX ? bytes : undefined
}
