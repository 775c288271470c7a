import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { Hex } from '../asset.ts'
import { inTurn, type Outbox, place, type Signed, type Wire } from './outbox.ts'

/** A key on a chain. */
export interface KeyOnChain {
  readonly chainId: number
  readonly address: Hex
}

/** Nodes behind one address may lag; what they do not know after this long is lost. */
const REMEMBER_SECONDS = 30

/**
 * Kept in PostgreSQL: for a key that several processes send with, and for transactions that must
 * survive each of them. A transaction is committed before it leaves. Whoever comes after a crash
 * sends it once more under its own number, so that no number is used twice and none is left out.
 * @param pool at least two connections; no other work may hold one while it waits for this
 */
export function storedOutbox(pool: Pool, key: KeyOnChain): Outbox {
  const wallet = [key.chainId, key.address.toLowerCase()] as const
  const turn = inTurn() // one connection waits for the lock of the wallet, not one for each payment
  let known: Promise<unknown> | undefined
  const introduce = () => {
    known ??= pool.query(
      'INSERT INTO hub.wallet_nonce (chain_id, address) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [...wallet],
    )
    return known.catch((error: unknown) => {
      known = undefined
      throw error
    })
  }

  const keep = (payment: Buffer | null) => (transaction: Signed) =>
    pool.query(
      `INSERT INTO hub.sent_transaction (chain_id, sender, hash, nonce, raw, payment)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [...wallet, transaction.hash, transaction.nonce, bytes(transaction.raw), payment],
    )
  const drop = ({ hash }: Signed) =>
    pool.query('DELETE FROM hub.sent_transaction WHERE hash = $1', [hash])

  return {
    send: (wire, payment) =>
      turn(async () => {
        await introduce()
        const digest = payment === undefined ? null : digestOf(payment)
        let sent: Signed | undefined
        try {
          await inTransaction(pool, async (client) => {
            await client.query(LOCK, [...wallet])
            sent = await underWay(client, digest)
            if (sent) return void (await wire.broadcast(sent)) // a crash may have come before
            const first = await firstFree(client, wire, wallet)
            sent = await place(wire, first, keep(digest), drop)
          })
        } catch (error) {
          if (sent === undefined) throw error // else only the lock was lost, too late to matter
        }
        return sent!
      }),
    underWay: (payment) => underWay(pool, digestOf(payment)),
    async ended(hash) {
      await pool.query('UPDATE hub.sent_transaction SET payment = NULL WHERE hash = $1', [hash])
    },
  }
}

const LOCK = 'SELECT FROM hub.wallet_nonce WHERE chain_id = $1 AND address = $2 FOR UPDATE'

/**
 * The first number that no transaction has: after those that the node counts, and after those of
 * ours that it has not seen yet and is sent now.
 * @throws Error when the node does not answer
 */
async function firstFree(
  client: PoolClient,
  { count, broadcast }: Wire,
  wallet: readonly [number, string],
): Promise<number> {
  let next = await count()
  const { rows } = await client.query<Row>(
    `SELECT DISTINCT ON (nonce) ${COLUMNS} FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND nonce >= $3
       AND kept_at > now() - make_interval(secs => $4) ORDER BY nonce, kept_at DESC`,
    [...wallet, next, REMEMBER_SECONDS],
  )
  for (const transaction of rows.map(signed)) {
    if (transaction.nonce !== next) break
    const reception = await broadcast(transaction)
    if (reception.is === 'unknown') throw new Error('the node gave no answer')
    if (reception.is === 'refused' && !reception.numberUsed) break
    next++
  }
  return next
}

async function underWay(
  client: Pick<Pool, 'query'> | PoolClient,
  payment: Buffer | null,
): Promise<Signed | undefined> {
  if (payment === null) return undefined
  const { rows } = await client.query<Row>(
    `SELECT ${COLUMNS} FROM hub.sent_transaction WHERE payment = $1`,
    [payment],
  )
  return rows[0] && signed(rows[0])
}

const COLUMNS = 'nonce, hash, raw'

interface Row {
  readonly nonce: number
  readonly hash: Hex
  readonly raw: Buffer
}

const signed = ({ nonce, hash, raw }: Row): Signed => ({
  nonce,
  hash,
  raw: `0x${raw.toString('hex')}`,
})

const bytes = (hex: Hex): Buffer => Buffer.from(hex.slice(2), 'hex')

const digestOf = (payment: string): Buffer => createHash('sha256').update(payment).digest()
