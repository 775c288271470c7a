import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { PAYOUTS } from '../../ledger/postings.ts'
import { micros } from '../../money.ts'
import { componentOf, logFailure, outagesOf } from '../../outages.ts'
import { notifyPayout } from '../../providers/notify-owner.ts'
import type { Hex } from '../chain/asset.ts'
import { signAuthorization } from '../chain/authorization.ts'
import { judgeAuthorization, judgeTransaction } from '../chain/verdict.ts'
import { OutgoingSwitch } from '../operations/outgoing-switch.ts'
import type { Payment } from '../receiving/payment.ts'
import type { Payout, PayoutDeps } from './payout.ts'
import { payoutLedger } from './payout-entries.ts'

/** Name in the log, for errors of no other component. */
const COMPONENT = 'payouts'
/** Payouts handled at once; as many may share a transaction. */
const BATCH_SIZE = 50
/** Pause between two attempts at a payout, because another process may be handling it. */
const RETRY_AFTER_SECONDS = 20
/** Remaining validity below which an authorization is no longer sent. */
const SENDABLE_MARGIN_MS = 30_000

/**
 * Sends started payouts and resolves sent ones by the chain: posts them out of the wallet, or
 * returns the amount to the provider's earnings. A payout always has the same authorization, so
 * sending it twice does not pay it twice.
 * @returns the number of payouts still open
 */
export async function sendPayouts(
  deps: PayoutDeps,
  stopping?: AbortSignal,
  retrySeconds = RETRY_AFTER_SECONDS,
): Promise<number> {
  const { pool, log } = deps
  const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const since = rows[0]!.now
  let open = 0
  for (;;) {
    if (stopping?.aborted) break
    const batch = await takeOpen(pool, since, retrySeconds)
    if (batch.length === 0) break
    const ends = batch.map((payout) =>
      advance(deps, payout).catch((err: unknown) => {
        const component = componentOf(err) ?? COMPONENT
        const fields = { err, component, payout: payout.id }
        logFailure(log, 'warn', fields, 'a payout could not be resolved yet')
        return false
      }),
    )
    open += (await Promise.all(ends)).filter((ended) => !ended).length
  }
  return open
}

/** Takes open payouts, least recently tried first and each once per run. */
async function takeOpen(pool: Pool, since: Date, retrySeconds: number): Promise<readonly Payout[]> {
  const { rows } = await pool.query<Payout>(
    `UPDATE hub.payout p SET tried_at = clock_timestamp() FROM (
       SELECT id, tried_at = started_at AS fresh FROM hub.payout
       WHERE state = 'started' AND tried_at < $1
         AND (tried_at = started_at OR tried_at < clock_timestamp() - make_interval(secs => $2))
       ORDER BY tried_at LIMIT $3 FOR UPDATE SKIP LOCKED) t
     WHERE p.id = t.id
     RETURNING p.id, p.provider, p.amount, p.shard, p.payer, p.payee, p.nonce, p.transaction,
       p.valid_before AS "validBefore", p.from_block AS "fromBlock", t.fresh`,
    [since, retrySeconds, BATCH_SIZE],
  )
  return rows
}

/** @returns true if the payout has ended */
async function advance(deps: PayoutDeps, payout: Payout): Promise<boolean> {
  let { transaction } = payout
  let verdict = payout.fresh ? undefined : await judgePayout(deps, payout, transaction)
  if (!verdict || verdict.is === 'open') {
    if (await isSendable(deps, payout)) transaction = await sendPayout(deps, payout)
    verdict = await judgePayout(deps, payout, transaction)
  }
  if (verdict.is === 'open') return false
  if (verdict.is === 'paid') await confirmPayout(deps, payout, verdict.tx)
  else {
    await pauseIfUsed(deps, payout)
    await failPayout(deps, payout)
  }
  return true
}

/** Pauses outgoing payments if another transfer used the authorization, as after a restore. */
async function pauseIfUsed({ pool, chain, log }: PayoutDeps, payout: Payout): Promise<void> {
  const { id, payer, nonce } = payout
  if (!(await chain.authorizationState(payer, nonce))) return
  const reason = `The chain has another transfer by the authorization of payout ${id}.`
  await new OutgoingSwitch(pool).set(true, 'pay-providers', reason)
  log.error({ reason }, 'outgoing payments are paused: `npm run payments -- resume`')
}

const judgePayout = async (deps: PayoutDeps, payout: Payout, tx: Hex | null) => {
  const { payer: from, payee: to, amount: value, nonce, validBefore, fromBlock } = payout
  const known = tx && (await judgeTransaction(deps, { tx, from, to, value, nonce }))
  return known ?? judgeAuthorization(deps, { from, to, value, nonce, validBefore, fromBlock })
}

/**
 * Returns false if the spend key has changed, because only the original payer can sign. Reads the
 * kill switch for each payout, because a run can be long.
 */
const isSendable = async (
  { pool, account, clock }: PayoutDeps,
  { payer, validBefore }: Payout,
): Promise<boolean> =>
  account.address.toLowerCase() === payer &&
  clock.now().getTime() < validBefore.getTime() - SENDABLE_MARGIN_MS &&
  !(await new OutgoingSwitch(pool).state())?.paused

/** @returns the transaction, if the facilitator names one */
async function sendPayout(deps: PayoutDeps, payout: Payout): Promise<Hex | null> {
  const { outcome, tx, reason } = await deps.settle(...(await signPayout(deps, payout)))
  const { rows } = await deps.pool.query<{ transaction: Hex | null }>(
    `UPDATE hub.payout SET transaction = coalesce($2, transaction), reason = $3
     WHERE id = $1 AND state = 'started' RETURNING transaction`,
    [payout.id, tx ?? null, outcome === 'settled' ? null : reason],
  )
  if (outcome === 'failed') {
    const fields = { err: reason, component: COMPONENT, payout: payout.id }
    logFailure(deps.log, 'warn', fields, 'a payout was not sent, and will be tried again')
  }
  if (outcome === 'settled') outagesOf(deps.log).succeed(COMPONENT)
  return rows[0]?.transaction ?? null
}

/** Signs a payout as the payment and the requirements that a facilitator settles. */
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

/** Locks a payout, so that only one process ends it. */
const LOCK_IF_STARTED = `SELECT FROM hub.payout WHERE id = $1 AND state = 'started' FOR UPDATE`

/** Posts the payout out of the wallet, once it is final on the chain. */
const confirmPayout = (deps: PayoutDeps, payout: Payout, tx: Hex): Promise<void> =>
  inTransaction(deps.pool, async (client) => {
    const { id, provider, shard } = payout
    if ((await client.query(LOCK_IF_STARTED, [id])).rowCount !== 1) return
    const ledger = payoutLedger(deps, client)
    const owner = { ...(await ledger.account(PAYOUTS)), shard }
    const amount = micros(payout.amount)
    const meta = { tx, payout: id, provider }
    await ledger.post({ type: 'payout.confirmed', wallet: 'spend', amount }, { owner, id, meta })
    await client.query(
      `UPDATE hub.payout SET state = 'confirmed', transaction = $2, reason = NULL,
         ended_at = clock_timestamp() WHERE id = $1`,
      [id, tx],
    )
    await notifyPayout(client, id, 'payout.sent')
  })

/** Returns the amount to the earnings, once the authorization has expired unused on the chain. */
const failPayout = (deps: PayoutDeps, { id, provider, shard }: Payout): Promise<void> =>
  inTransaction(deps.pool, async (client) => {
    if ((await client.query(LOCK_IF_STARTED, [id])).rowCount !== 1) return
    const ledger = payoutLedger(deps, client)
    const { rows } = await client.query<{ code: string; amount: bigint }>(
      `SELECT a.code, sum(p.amount)::bigint AS amount FROM hub.payout_part p
       JOIN ledger.account a ON a.id = p.account WHERE p.payout = $1 GROUP BY a.code ORDER BY 1`,
      [id],
    )
    for (const { code, amount } of rows) {
      const owner = { ...(await ledger.account(code)), shard }
      const event = { type: 'payout.failed', earnings: code, amount: micros(amount) } as const
      await ledger.post(event, { owner, id, meta: { payout: id, provider } })
    }
    await client.query(
      `UPDATE hub.payout SET state = 'failed', ended_at = clock_timestamp() WHERE id = $1`,
      [id],
    )
    await notifyPayout(client, id, 'payout.failed')
  })
