import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import {
  type Challenge,
  type ChallengeIssuer,
  createChallenge,
  findChallenge,
} from '../identity/challenge.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import { assertSigned, type ContractVerifier } from '../identity/wallet-signature.ts'
import { transferCredits } from '../ledger/adjust.ts'
import { isPosted } from '../ledger/idempotency.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'
import { decimal, type Micros, micros } from '../money.ts'

/** Credits from one root of a wallet to another one. */
export interface KeyTransfer {
  /** Of the entry in the journal, UUID version 7. */
  readonly id: string
  /** Ids of the keys. */
  readonly from: string
  readonly to: string
  readonly amount: Micros
}

export interface CompletedKeyTransfer extends KeyTransfer {
  /** What the first key has left. */
  readonly balance: Micros
}

/**
 * Asks the wallet of two roots to sign for a transfer between them. Its signature is good for this
 * transfer alone, once.
 * @throws Fault `not_found` for keys that the manager does not manage; `validation_failed` for keys
 *   that are no roots of one wallet
 */
export async function createTransferChallenge(
  pool: Pool,
  site: ChallengeIssuer,
  manager: KeyManager,
  { id, from, to, amount }: KeyTransfer,
): Promise<Challenge> {
  if (from === to) throw new Fault('validation_failed', 'These are the same key.')
  const wallet = await findSharedWallet(pool, manager, from, to)
  return createChallenge(pool, site, wallet, {
    purpose: 'transfer',
    statement: `Move ${decimal(amount)} USD of credits from key ${from} to key ${to}.`,
    terms: { id, from, to, amount: String(amount) },
  })
}

interface TransferKey {
  readonly id: string
  readonly wallet: `0x${string}` | null
  readonly isMainKey: boolean
  readonly revoked: boolean
  readonly frozen: boolean
}

/**
 * A manager of one root may name another one of the same wallet: the wallet has to sign anyway.
 * What a revoked key has left may be fetched from it.
 */
async function findSharedWallet(pool: Pool, manager: KeyManager, from: string, to: string) {
  const { rows } = await pool.query<TransferKey>(
    `SELECT k.id, p.wallet_address AS wallet, k.parent IS NULL AS "isRoot",
       k.revoked_at IS NOT NULL AS revoked, k.frozen_at IS NOT NULL AS frozen
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
     WHERE k.id IN ($2, $3) AND k.principal IN (
       SELECT m.principal FROM hub.api_key m WHERE m.id = ANY ($1) AND m.parent IS NULL
       UNION ALL SELECT unnest($1::text[]))`,
    [manager, from, to],
  )
  const payer = rows.find(({ id }) => id === from)
  const payee = rows.find(({ id }) => id === to)
  if (!payer || !payee || payee.revoked) throw new Fault('not_found', 'There are no such keys.')
  if (payer.frozen || payee.frozen) throw new Fault('frozen_key')
  const { wallet } = payer
  if (wallet === null || wallet !== payee.wallet || !payer.isMainKey || !payee.isMainKey) {
    throw new Fault('validation_failed', 'Credits move between two roots of one wallet alone.')
  }
  return wallet
}

/**
 * Moves credits as a wallet has signed. The challenge has the entry's id, so that the same
 * signature moves them once, however often it comes; then the first outcome is told again.
 * @throws Fault `nonce_unknown`, `nonce_expired`, `invalid_signature`, `insufficient_credits`,
 *   `frozen_key` for a key that was frozen since
 */
export async function executeKeyTransfer(
  { pool, ledger }: { readonly pool: Pool; readonly ledger: Ledger },
  signed: { readonly nonce: string; readonly signature: `0x${string}` },
  contracts?: ContractVerifier,
): Promise<CompletedKeyTransfer> {
  const asked = await findChallenge(pool, signed.nonce, 'transfer')
  if (asked.wallet === null) throw new Fault('nonce_unknown')
  const { wallet, message } = asked
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  const order = parseTerms(asked.terms)
  const [from, to] = await Promise.all([
    ledger.account(creditsOf(order.from)),
    ledger.account(creditsOf(order.to)),
  ])
  if (!(await isPosted(pool, from.code, order.id))) {
    if (asked.expired) throw new Fault('nonce_expired')
    await assertNotFrozen(pool, order)
  }
  const { id, amount } = order
  const outcome = await transferCredits(
    pool,
    ledger,
    { from, to, amount },
    { id, meta: { wallet } },
  )
  if (outcome === 'insufficient_funds') {
    throw new Fault('insufficient_credits', 'The first key has not so many credits free to spend.')
  }
  if (outcome !== 'applied' && outcome !== 'replayed') throw new Error(`transfer ${id}: ${outcome}`)
  return { ...order, balance: await ledger.balance(from.code) }
}

async function assertNotFrozen(pool: Pool, { from, to }: KeyTransfer): Promise<void> {
  const { rowCount } = await pool.query(
    'SELECT FROM hub.api_key WHERE id IN ($1, $2) AND frozen_at IS NOT NULL',
    [from, to],
  )
  if (rowCount !== 0) throw new Fault('frozen_key')
}

const parseTerms = (terms: unknown): KeyTransfer => {
  const { amount, ...order } = terms as Record<'id' | 'from' | 'to' | 'amount', string>
  return { ...order, amount: micros(BigInt(amount)) }
}
