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

/** Transfer of credits between two main keys of one wallet. */
export interface KeyTransfer {
  /** Id of the journal entry, UUID version 7. */
  readonly id: string
  /** Key id. */
  readonly from: string
  readonly to: string
  readonly amount: Micros
}

/**
 * Creates the challenge that the wallet of two main keys signs to transfer credits between them.
 * The signature is valid once, for this transfer only.
 * @throws Fault `not_found` if `manager` does not manage the keys; `validation_failed` if they are
 *   not main keys of one wallet
 */
export async function createTransferChallenge(
  pool: Pool,
  site: ChallengeIssuer,
  manager: KeyManager,
  { id, from, to, amount }: KeyTransfer,
): Promise<Challenge> {
  if (from === to) throw new Fault('validation_failed', 'Choose two different keys.')
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

/** Finds the wallet of both keys. Managing one suffices, because the wallet has to sign. */
async function findSharedWallet(pool: Pool, manager: KeyManager, from: string, to: string) {
  const { rows } = await pool.query<TransferKey>(
    `SELECT k.id, p.wallet_address AS wallet, k.parent IS NULL AS "isMainKey",
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
    throw new Fault('validation_failed', 'Credits move only between two main keys of one wallet.')
  }
  return wallet
}

/**
 * Executes a transfer that a wallet signed. The challenge contains the entry id, so that a repeated
 * signature moves the credits once and returns the same result.
 * @throws Fault `nonce_unknown`, `nonce_expired`, `invalid_signature`, `insufficient_credits`,
 *   `frozen_key` if a key was frozen since
 */
export async function executeKeyTransfer(
  { pool, ledger }: { readonly pool: Pool; readonly ledger: Ledger },
  signed: { readonly nonce: string; readonly signature: `0x${string}` },
  contracts?: ContractVerifier,
): Promise<KeyTransfer & { readonly balance: Micros }> {
  const challenge = await findChallenge(pool, signed.nonce, 'transfer')
  if (challenge.wallet === null) throw new Fault('nonce_unknown')
  const { wallet, message } = challenge
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  const order = parseTerms(challenge.terms)
  const [from, to] = await Promise.all([
    ledger.account(creditsOf(order.from)),
    ledger.account(creditsOf(order.to)),
  ])
  if (!(await isPosted(pool, from.code, order.id))) {
    if (challenge.expired) throw new Fault('nonce_expired')
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
    throw new Fault('insufficient_credits', 'The source key has insufficient available credits.', {
      advice: 'Move at most its available credits: GET /v1/credits/balance with that key.',
    })
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
