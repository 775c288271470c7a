import type { Pool } from 'pg'
import { seal, unseal } from '../crypto/sealing.ts'
import { ASYNC_COMMIT } from '../db/transaction.ts'

/** Response to a paid call, as sent or meant to be sent. */
export interface StoredResponse {
  /** Id of the call. */
  readonly call: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

const STORED_HOURS = 24
/** Maximum length of a stored body. */
export const STORED_BYTES_MAX = 1_048_576

/** Stores paid responses, encrypted, for a day, for a caller that lost one. */
export class StoredResponses {
  readonly #pool: Pool
  readonly #secret: Buffer

  /** @param secret 32 bytes */
  constructor(pool: Pool, secret: Buffer) {
    this.#pool = pool
    this.#secret = secret
  }

  /** Stores a response of at most 1 MiB; ignores larger ones and streams. */
  store(id: string, response: StoredResponse): Promise<void> {
    return this.#insert(id, response, '')
  }

  /** Like `store`, but becomes durable only with the charge that follows. */
  storeAsync(id: string, response: StoredResponse): Promise<void> {
    return this.#insert(id, response, `FROM ${ASYNC_COMMIT}`)
  }

  async #insert(
    id: string,
    { call, status, headers, body }: StoredResponse,
    from: string,
  ): Promise<void> {
    const bytes = bytesOf(body)
    if (bytes === undefined || bytes.length > STORED_BYTES_MAX) return
    const isRaw = body instanceof Uint8Array
    const head = Buffer.from(JSON.stringify({ call, status, headers, isRaw }))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(head.length)
    await this.#pool.query(
      `INSERT INTO hub.kept_answer SELECT $1, $2, now() + make_interval(hours => $3) ${from}
       ON CONFLICT (id) DO NOTHING`,
      [id, seal(this.#secret, id, Buffer.concat([length, head, bytes])), STORED_HOURS],
    )
  }

  /** Finds a response; undefined if none was stored or it expired. */
  async find(id: string): Promise<StoredResponse | undefined> {
    const { rows } = await this.#pool.query<{ sealed: Buffer }>(
      'SELECT sealed FROM hub.kept_answer WHERE id = $1 AND expires_at > now()',
      [id],
    )
    const [row] = rows
    if (!row) return undefined
    const plain = unseal(this.#secret, id, row.sealed)
    const split = 4 + plain.readUInt32BE()
    const { isRaw, ...head } = JSON.parse(plain.toString('utf8', 4, split))
    const bytes = plain.subarray(split)
    return { ...head, body: isRaw ? bytes : JSON.parse(bytes.toString('utf8')) }
  }
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const isStream = typeof body === 'object' && body !== null && 'pipe' in body
  return isStream ? undefined : Buffer.from(JSON.stringify(body ?? null))
}
