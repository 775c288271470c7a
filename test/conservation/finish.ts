import { elapsedMs, sleep } from '../../core/clock.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { usd } from '../../core/money.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { postGasFees } from '../../core/payments/facilitators/gas-accounting.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { listExceptions } from '../../core/reconciliation/exceptions.ts'
import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { allTransfers, type Transfer } from './chain-transfers.ts'
import { type Books, type Facts, type Holdings, readAccounts, readBooks } from './facts.ts'
import type { Sent } from './operators.ts'
import type { Run } from './run.ts'
import type { Venue } from './venue.ts'

/** How things stood before the trade. */
export interface Start {
  readonly holdings: Holdings
  readonly books: Pick<Books, 'accounts'>
}

const ETH_PRICE = usd('3000')
/** After the last deadline, on the clock of the chain: a margin, and a little more. */
const BEYOND_SECONDS = 60n
const QUIET_MS = 500

export const begin = async ({ venue }: Run): Promise<Start> => ({
  holdings: await holdingsOf(venue),
  books: { accounts: await readAccounts(venue.pool) },
})

async function holdingsOf({ ports, wallets, gas }: Venue): Promise<Holdings> {
  const { chain } = ports
  return {
    spend: await chain.balanceOf(wallets.spend),
    treasury: await chain.balanceOf(wallets.treasury),
    gas: await gas.balance(),
  }
}

/** Lets all deadlines pass on the chain, and runs the jobs until nothing changes any more. */
export async function settleAll({ venue }: Run, patienceMs: number): Promise<void> {
  await passDeadlines(venue)
  let before = ''
  for (const end = elapsedMs() + patienceMs; elapsedMs() < end; await sleep(QUIET_MS)) {
    await runJobs(venue)
    const now = await stateOf(venue)
    if (now.state === before && now.open === 0) return
    before = now.state
  }
}

async function passDeadlines({ pool, rpcUrl, ports }: Venue): Promise<void> {
  const { rows } = await pool.query<{ last: Date | null }>(
    `SELECT greatest((SELECT max(valid_before) FROM hub.payment_claim),
       (SELECT max(valid_before) FROM hub.payment_intent)) AS last`,
  )
  const { time } = await ports.chain.head()
  const last = BigInt((rows[0]?.last ?? time).getTime())
  const seconds = (last - BigInt(time.getTime())) / 1_000n + BEYOND_SECONDS
  await callRpc(rpcUrl, 'evm_increaseTime', [Number(seconds)])
  await callRpc(rpcUrl, 'evm_mine', [])
}

async function runJobs({ pool, ports, gas }: Venue): Promise<void> {
  const { ledger, finality } = ports
  await resolvePayments(ports, 0)
  await expireHolds(pool, ledger)
  await postGasFees({ pool, ledger, finality, wallet: gas, ethPrice: ETH_PRICE })
}

async function stateOf({ pool }: Venue): Promise<{ state: string; open: number }> {
  const { rows } = await pool.query<{ state: string; open: number }>(
    `SELECT (SELECT string_agg(seq::text, ' ' ORDER BY shard) FROM ledger.head) AS state,
       ((SELECT count(*) FROM ledger.open_hold)
        + (SELECT count(*) FROM hub.payment_claim
           WHERE state IN ('claimed', 'pending', 'settled'))
        + (SELECT count(*) FROM hub.payment_intent
           WHERE state IN ('signed', 'unresolved', 'paid')))::integer AS open`,
  )
  return rows[0]!
}

const AT_ONCE = 6

/** Sends every payment that was made once more: whoever has paid must be served. */
export async function askAgain(run: Run): Promise<ReadonlyMap<Hex, boolean>> {
  const paid = new Set((await allTransfers(run.venue.rpcUrl)).map(({ nonce }) => nonce))
  const rest = run.desk.sent.filter(({ nonce }) => paid.has(nonce))
  const served = new Map<Hex, boolean>()
  const some = async (): Promise<void> => {
    for (let sent = rest.pop(); sent; sent = rest.pop()) {
      served.set(sent.nonce, await isServed(run, sent))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, some))
  return served
}

async function isServed({ desk }: Run, sent: Sent): Promise<boolean> {
  for (const want of sent.wants) {
    const told = await desk.pay(sent, want)
    if (told?.status === 200 || told?.status === 201) return true
  }
  return false
}

/** Everything that is to be judged, now. */
export async function gatherFacts(
  run: Run,
  before: Start,
  served: ReadonlyMap<Hex, boolean>,
): Promise<Facts> {
  const { venue, market, desk, purses, keyed } = run
  const { chain } = venue.ports
  const transfers = await allTransfers(venue.rpcUrl)
  const left = await Promise.all(
    purses.map(async ({ account, funded }) => {
      const wallet = account.address.toLowerCase() as Hex
      return [wallet, { funded, left: await chain.balanceOf(wallet) }] as const
    }),
  )
  return {
    wallets: venue.wallets,
    before,
    holdings: await holdingsOf(venue),
    books: await readBooks(venue.pool),
    transfers,
    incomes: incomesOf(market.wallets, transfers),
    purses: new Map(left),
    charges: desk.charges,
    attempts: desk.sent.map(({ payer, nonce, amount, answers }) => ({
      payer,
      nonce,
      amount,
      charged: answers.map(({ charged }) => charged),
      served: served.get(nonce),
    })),
    standings: await Promise.all(
      keyed.map(async (buyer) => ({ keyId: buyer.keyId, ...(await buyer.standing()) })),
    ),
    findings: [...desk.faults, ...venue.faults(), ...(await others(venue))],
  }
}

/** What each wallet was paid, by the chain's own log. */
function incomesOf(wallets: readonly Hex[], transfers: readonly Transfer[]) {
  const incomes = new Map(wallets.map((wallet) => [wallet, 0n]))
  for (const { to, amount } of transfers) {
    const income = incomes.get(to)
    if (income !== undefined) incomes.set(to, income + amount)
  }
  return incomes
}

/** The findings of the ledger's own verification, and of the reconciliation with the chain. */
async function others({ pool, ports, wallets }: Venue): Promise<string[]> {
  const { checks } = await verifyLedger(pool)
  const { chain, finality } = ports
  const results = await reconcile({ pool, chain, finality, wallets })
  const exceptions = await listExceptions(pool, { resolved: true })
  return [
    ...checks.filter(({ bad }) => bad > 0n).map(({ name, bad }) => `verification: ${name} ${bad}`),
    ...results
      .filter(({ complete }) => !complete)
      .map(({ wallet }) => `reconciliation of ${wallet} did not end`),
    ...results.flatMap(({ wallet, pending }) =>
      pending.map(({ what, id }) => `reconciliation of ${wallet}: ${id} is ${what}`),
    ),
    ...exceptions.map(
      ({ wallet, kind, reason, resolution }) =>
        `reconciliation of ${wallet}: ${kind}, ${resolution ?? 'open'}: ${reason}`,
    ),
  ]
}
