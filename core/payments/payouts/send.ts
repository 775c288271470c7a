import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { PAYOUTS } from '../../ledger/postings.ts'
import { micros } from '../../money.ts'
import { notifyPayout } from '../../providers/notify-owner.ts'
import type { Hex } from '../chain/asset.ts'
import { signAuthorization } from '../chain/authorization.ts'
import { judgeAuthorization, judgeTransaction, type PaymentVerdict } from '../chain/verdict.ts'
import { OutgoingSwitch } from '../operations/outgoing-switch.ts'
import type { Payment } from '../receiving/payment.ts'
import type { Payout, PayoutDeps } from './payout.ts'
import { payoutLedger } from './payout-entries.ts'

/** Payouts that are looked at together; so many may share a transaction. */
const BATCH_SIZE = 50
/** One that was looked at is left alone for so long: another process may be at it. */
const RETRY_AFTER_SECONDS = 20
/** Later than this before its end, an authorization is not sent any more. */
const SENDABLE_MARGIN_MS = 30_000

/**
 * Sends the payouts that were started, and learns from the chain what became of those that were
 * sent: booked out of the wallet, or owed again. The authorization of a payout is always the same
 * one, so that nothing that is sent twice is paid twice.
 * @returns how many are still on their way
 */
export async function sendPayouts(
  ports: PayoutDeps,
  stopping?: AbortSignal,
  againSeconds = RETRY_AFTER_SECONDS,
): Promise<number> {
  const { pool, log } = ports
  const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const since = rows[0]!.now
  const sending = !(await new OutgoingSwitch(pool).state())?.paused
  let open = 0
  for (;;) {
    if (stopping?.aborted) break
    const batch = await takePending(pool, since, againSeconds)
    if (batch.length === 0) break
    const ends = batch.map((payout) =>
      advance(ports, payout, sending).catch((error: unknown) => {
        log.warn({ err: error, payout: payout.id }, 'a payout is not resolved yet')
        return false
      }),
    )
    open += (await Promise.all(ends)).filter((ended) => !ended).length
  }
  return open
}

/** Those first that were looked at longest ago; each once in a run. */
async function takePending(
  pool: Pool,
  since: Date,
  againSeconds: number,
): Promise<readonly Payout[]> {
  const { rows } = await pool.query<Payout>(
    `UPDATE hub.payout p SET tried_at = clock_timestamp() FROM (
       SELECT id, tried_at = started_at AS fresh FROM hub.payout
       WHERE state = 'started' AND tried_at < $1
         AND (tried_at = started_at OR tried_at < clock_timestamp() - make_interval(secs => $2))
       ORDER BY tried_at LIMIT $3 FOR UPDATE SKIP LOCKED) t
     WHERE p.id = t.id
     RETURNING p.id, p.provider, p.amount, p.shard, p.payer, p.payee, p.nonce, p.transaction,
       p.valid_before AS "validBefore", p.from_block AS "fromBlock", t.fresh`,
    [since, againSeconds, BATCH_SIZE],
  )
  return rows
}

/** @returns whether it has come to its end */
async function advance(ports: PayoutDeps, payout: Payout, sending: boolean): Promise<boolean> {
  let transaction = payout.transaction
  const found: PaymentVerdict = payout.fresh
    ? { is: 'open' }
    : await judgePayout(ports, payout, transaction)
  if (found.is === 'open' && sending && isSendable(ports, payout)) {
    transaction = await sendPayout(ports, payout)
  }
  const known = found.is === 'open' ? await judgePayout(ports, payout, transaction) : found
  if (known.is === 'open') return false
  if (known.is === 'paid') await confirmPayout(ports, payout, known.tx)
  else {
    await pauseIfUsed(ports, payout)
    await failPayout(ports, payout)
  }
  return true
}

/**
 * An authorization that was used by another transfer than this payout: the books have forgotten one
 * that they made, as after a restore. Nothing goes out any more until somebody has looked.
 */
async function pauseIfUsed({ pool, chain, log }: PayoutDeps, payout: Payout): Promise<void> {
  const { id, payer, nonce } = payout
  if (!(await chain.authorizationState(payer, nonce))) return
  const reason = `The chain has another transfer by the authorization of payout ${id}.`
  await new OutgoingSwitch(pool).set(true, 'pay-providers', reason)
  log.error({ reason }, 'outgoing payments are paused: `npm run payments -- resume`')
}

const judgePayout = async (
  ports: PayoutDeps,
  payout: Payout,
  tx: Hex | null,
): Promise<PaymentVerdict> => {
  const { payer: from, payee: to, amount: value, nonce, validBefore, fromBlock } = payout
  const known =
    tx === null ? undefined : await judgeTransaction(ports, { tx, from, to, value, nonce })
  return known ?? judgeAuthorization(ports, { from, to, value, nonce, validBefore, fromBlock })
}

/** Another key than the one that it was started with cannot sign it: then it ends unused. */
const isSendable = ({ account, clock }: PayoutDeps, { payer, validBefore }: Payout): boolean =>
  account.address.toLowerCase() === payer &&
  clock.now().getTime() < validBefore.getTime() - SENDABLE_MARGIN_MS

/** @returns the transaction, as far as the facilitator names one */
async function sendPayout(ports: PayoutDeps, payout: Payout): Promise<Hex | null> {
  const { outcome, tx, reason } = await ports.settle(...(await signPayout(ports, payout)))
  const { rows } = await ports.pool.query<{ transaction: Hex | null }>(
    `UPDATE hub.payout SET transaction = coalesce($2, transaction), reason = $3
     WHERE id = $1 AND state = 'started' RETURNING transaction`,
    [payout.id, tx ?? null, outcome === 'settled' ? null : reason],
  )
  if (outcome === 'failed') {
    ports.log.warn({ payout: payout.id, reason }, 'a payout was not sent, and will be tried again')
  }
  return rows[0]?.transaction ?? null
}

/** The payment as a facilitator takes it, with what it is to pay. */
async function signPayout({ account, asset }: PayoutDeps, payout: Payout) {
  const { payer: from, payee: to, amount: value, nonce, validBefore } = payout
  const { network, address, name, version } = asset
  const seconds = BigInt(validBefore.getTime()) / 1_000n
  const payload = await signAuthorization(account, { from, to, value, nonce, validBefore: seconds })
  const accepted = {
    scheme: 'exact',
    network,
    amount: String(value),
    asset: address,
    payTo: to,
    maxTimeoutSeconds: 3_600,
    extra: { name, version },
  }
  const payment: Payment = { x402Version: 2, accepted, payload }
  return [payment, accepted] as const
}

/** Whoever is first ends it: the others find it ended. */
const LOCK_IF_STARTED = `SELECT FROM hub.payout WHERE id = $1 AND state = 'started' FOR UPDATE`

/** Books it out of the wallet: the chain shows it, and is not going to forget it. */
const confirmPayout = (ports: PayoutDeps, payout: Payout, tx: Hex): Promise<void> =>
  inTransaction(ports.pool, async (client) => {
    const { id, provider, shard } = payout
    if ((await client.query(LOCK_IF_STARTED, [id])).rowCount !== 1) return
    const book = payoutLedger(ports, client)
    const owner = { ...(await book.account(PAYOUTS)), shard }
    const amount = micros(payout.amount)
    const meta = { tx, payout: id, provider }
    await book.post({ type: 'payout.confirmed', wallet: 'spend', amount }, { owner, id, meta })
    await client.query(
      `UPDATE hub.payout SET state = 'confirmed', transaction = $2, reason = NULL,
         ended_at = clock_timestamp() WHERE id = $1`,
      [id, tx],
    )
    await notifyPayout(client, id, 'payout.sent')
  })

/** It is dead on the clock of the chain, unused: what it took is owed again. */
const failPayout = (ports: PayoutDeps, { id, provider, shard }: Payout): Promise<void> =>
  inTransaction(ports.pool, async (client) => {
    if ((await client.query(LOCK_IF_STARTED, [id])).rowCount !== 1) return
    const book = payoutLedger(ports, client)
    const { rows } = await client.query<{ code: string; amount: bigint }>(
      `SELECT a.code, sum(p.amount)::bigint AS amount FROM hub.payout_part p
       JOIN ledger.account a ON a.id = p.account WHERE p.payout = $1 GROUP BY a.code ORDER BY 1`,
      [id],
    )
    for (const { code, amount } of rows) {
      const owner = { ...(await book.account(code)), shard }
      const event = { type: 'payout.failed', earnings: code, amount: micros(amount) } as const
      await book.post(event, { owner, id, meta: { payout: id, provider } })
    }
    await client.query(
      `UPDATE hub.payout SET state = 'failed', ended_at = clock_timestamp() WHERE id = $1`,
      [id],
    )
    await notifyPayout(client, id, 'payout.failed')
  })
