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
import {
  type ChainBalances,
  type DatabaseSnapshot,
  type Facts,
  readAccounts,
  readDatabase,
} from './facts.ts'
import type { HubEnvironment } from './hub-environment.ts'
import type { SentPayment } from './request-recorder.ts'
import type { Run } from './run.ts'

/** Balances before the load starts. */
export interface Baseline {
  readonly chainBalances: ChainBalances
  readonly database: Pick<DatabaseSnapshot, 'accounts'>
}

const ETH_PRICE = usd('3000')
/** Chain time after the last deadline: the safety margin plus a reserve. */
const CHAIN_TIME_MARGIN_SECONDS = 60n
const POLL_MS = 500

export const readBaseline = async ({ environment }: Run): Promise<Baseline> => ({
  chainBalances: await chainBalancesOf(environment),
  database: { accounts: await readAccounts(environment.pool) },
})

async function chainBalancesOf({ deps, wallets, gas }: HubEnvironment): Promise<ChainBalances> {
  const { chain } = deps
  return {
    spend: await chain.balanceOf(wallets.spend),
    treasury: await chain.balanceOf(wallets.treasury),
    gas: await gas.balance(),
  }
}

/**
 * Moves chain time past all deadlines and runs the jobs until nothing is open and the ledger no
 * longer changes.
 */
export async function settleAll({ environment }: Run, timeoutMs: number): Promise<void> {
  await passDeadlines(environment)
  let before = ''
  for (const end = elapsedMs() + timeoutMs; elapsedMs() < end; await sleep(POLL_MS)) {
    await runJobs(environment)
    const now = await stateOf(environment)
    if (now.state === before && now.open === 0) return
    before = now.state
  }
}

async function passDeadlines({ pool, rpcUrl, deps }: HubEnvironment): Promise<void> {
  const { rows } = await pool.query<{ last: Date | null }>(
    `SELECT greatest((SELECT max(valid_before) FROM hub.payment_claim),
       (SELECT max(valid_before) FROM hub.payment_intent)) AS last`,
  )
  const { time } = await deps.chain.head()
  const last = BigInt((rows[0]?.last ?? time).getTime())
  const seconds = (last - BigInt(time.getTime())) / 1_000n + CHAIN_TIME_MARGIN_SECONDS
  await callRpc(rpcUrl, 'evm_increaseTime', [Number(seconds)])
  await callRpc(rpcUrl, 'evm_mine', [])
}

async function runJobs({ pool, deps, gas }: HubEnvironment): Promise<void> {
  const { ledger, finality } = deps
  await resolvePayments(deps, 0)
  await expireHolds(pool, ledger)
  await postGasFees({ pool, ledger, finality, wallet: gas, ethPrice: ETH_PRICE })
}

async function stateOf({ pool }: HubEnvironment): Promise<{ state: string; open: number }> {
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

const CONCURRENCY = 6

/** Resends every payment that reached the chain: a buyer who paid must be served. */
export async function resendPayments(run: Run): Promise<ReadonlyMap<Hex, boolean>> {
  const paid = new Set((await allTransfers(run.environment.rpcUrl)).map(({ nonce }) => nonce))
  const rest = run.recorder.sent.filter(({ nonce }) => paid.has(nonce))
  const served = new Map<Hex, boolean>()
  const resendNext = async (): Promise<void> => {
    for (let sent = rest.pop(); sent; sent = rest.pop()) {
      served.set(sent.nonce, await isServed(run, sent))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, resendNext))
  return served
}

async function isServed({ recorder }: Run, sent: SentPayment): Promise<boolean> {
  for (const request of sent.requests) {
    const response = await recorder.pay(sent, request)
    if (response?.status === 200 || response?.status === 201) return true
  }
  return false
}

/** Collects the current input of the conservation check. */
export async function collectFacts(
  run: Run,
  before: Baseline,
  served: ReadonlyMap<Hex, boolean>,
): Promise<Facts> {
  const { environment, market, recorder, buyerWallets, keyed } = run
  const { chain } = environment.deps
  const transfers = await allTransfers(environment.rpcUrl)
  const left = await Promise.all(
    buyerWallets.map(async ({ account, funded }) => {
      const wallet = account.address.toLowerCase() as Hex
      return [wallet, { funded, left: await chain.balanceOf(wallet) }] as const
    }),
  )
  return {
    wallets: environment.wallets,
    before,
    chainBalances: await chainBalancesOf(environment),
    database: await readDatabase(environment.pool),
    transfers,
    incomes: incomesOf(market.wallets, transfers),
    buyerWallets: new Map(left),
    charges: recorder.charges,
    attempts: recorder.sent.map(({ payer, nonce, amount, requests, responses }) => ({
      payer,
      nonce,
      amount,
      requests: requests.map(({ path, body }) => JSON.stringify([path, body])),
      isRefused: responses.some(({ code }) => code === 'payment_invalid'),
      charged: responses.map(({ charged }) => charged),
      served: served.get(nonce),
    })),
    keyBalances: await Promise.all(
      keyed.map(async (buyer) => ({ keyId: buyer.keyId, ...(await buyer.balances()) })),
    ),
    findings: [...recorder.errors, ...environment.errors(), ...(await ledgerFindings(environment))],
  }
}

/** Returns the total received by each wallet, from the chain's event log. */
function incomesOf(wallets: readonly Hex[], transfers: readonly Transfer[]) {
  const incomes = new Map(wallets.map((wallet) => [wallet, 0n]))
  for (const { to, amount } of transfers) {
    const income = incomes.get(to)
    if (income !== undefined) incomes.set(to, income + amount)
  }
  return incomes
}

/** Findings of the ledger verification and of the reconciliation with the chain. */
async function ledgerFindings({ pool, deps, wallets }: HubEnvironment): Promise<string[]> {
  const { checks } = await verifyLedger(pool)
  const { chain, finality } = deps
  const results = await reconcile({ pool, chain, finality, wallets })
  const exceptions = await listExceptions(pool, { resolved: true })
  return [
    ...checks.filter(({ bad }) => bad > 0n).map(({ name, bad }) => `verification: ${name} ${bad}`),
    ...results
      .filter(({ complete }) => !complete)
      .map(({ wallet }) => `reconciliation of ${wallet} did not complete`),
    ...results.flatMap(({ wallet, pending }) =>
      pending.map(({ what, id }) => `reconciliation of ${wallet}: ${id} is ${what}`),
    ),
    ...exceptions.map(
      ({ wallet, kind, reason, resolution }) =>
        `reconciliation of ${wallet}: ${kind}, ${resolution ?? 'open'}: ${reason}`,
    ),
  ]
}
