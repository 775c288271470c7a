import { expect } from 'chai'
import { earningsOf } from '../../../core/ledger/postings.ts'
import { createLog } from '../../../core/log.ts'
import { sendPayouts } from '../../../core/payments/payouts/send.ts'
import { jobs } from '../../../jobs/jobs.ts'
import { payProviders } from '../../../jobs/pay-providers.ts'
import { reconcileChain } from '../../../jobs/reconcile-chain.ts'
import { openProductionMoney } from '../../../server/boot/production-money.ts'
import { insertProvider } from '../../core/payments/payouts/fixture.ts'
import { identityOf, productionOf } from '../../core/payments/stack.ts'
import { earn } from '../../support/earn.ts'
import type { EntryPoint, Outcome } from './entry-point.ts'
import { type Dependency, type Fixture, PAYOUT } from './fixture.ts'

/** Runs background work, which reports failures by rejecting. */
async function run(work: () => unknown): Promise<Outcome> {
  try {
    await work()
    return { ok: true, charged: 0n, isProblem: false, text: '' }
  } catch (error) {
    const text = String(error)
    return { ok: false, code: 'job_failed', charged: 0n, isProblem: true, text }
  }
}

type RunJob = (deps: Fixture['jobDeps'], stopping: AbortSignal) => unknown

/** Runs a job, or what it does when it is due. */
const job = (name: keyof typeof jobs, uses: readonly Dependency[], due?: RunJob): EntryPoint => ({
  name: `job ${name}`,
  uses,
  prepare: async ({ jobDeps }) => {
    const work = due ?? (jobs[name].run as RunJob)
    return { send: () => run(() => work(jobDeps, new AbortController().signal)) }
  },
})

let payees = 0

/** Pays a provider what it is owed, once. */
const payout: EntryPoint = {
  name: 'job pay-providers',
  uses: ['node'],
  prepare: async ({ database, running, sandbox, jobDeps }) => {
    const { pool, ledger } = running.hub
    const id = `payee-${++payees}`
    const { wallet } = await insertProvider(database.admin, id)
    await earn(ledger, await ledger.open(earningsOf(id, 'work', false), 'USDC'), PAYOUT)
    const pay = async (): Promise<void> => {
      await payProviders(jobDeps, new AbortController().signal)
      await sendPayouts({ ...jobDeps, ...jobDeps.payouts }, undefined, 0)
      const sql = `SELECT FROM hub.payout WHERE provider = $1 AND state = 'confirmed'`
      if ((await pool.query(sql, [id])).rowCount !== 1) throw new Error('not paid yet')
    }
    const check = async (): Promise<void> =>
      void expect(await sandbox.money.chain.balanceOf(wallet)).to.equal(PAYOUT)
    return { send: () => run(pay), check }
  },
}

/** Starts with real money. Nothing is believed until the node has proved its chain. */
const start: EntryPoint = {
  name: 'job of a start with real money',
  uses: ['node'],
  prepare: async ({ database, sandbox, proxies }) => {
    const { chain, treasury: payTo } = sandbox.money
    const { wallets } = sandbox
    const rpcUrl = `http://127.0.0.1:${proxies.node.port}`
    const identity = await identityOf({ chain })
    const gasKey = { kind: 'environment', key: wallets.gas.key } as const
    const settings = { ...productionOf({ rpcUrl, payTo, wallets }), facilitator: { gasKey } }
    const log = createLog('silent')
    const open = async (): Promise<void> => {
      const opened = await openProductionMoney(settings, database.url, log, { identity })
      try {
        await opened.money.chain.head()
      } finally {
        await opened.stop()
      }
    }
    return { send: () => run(open) }
  },
}

/** Work of a hub that nobody asks for. */
export const JOBS: readonly EntryPoint[] = [
  job('reconcile-chain', ['node'], reconcileChain),
  job('account-gas', ['node']),
  job('check-wallet-keys', ['node']),
  job('discover-transfers', ['node']),
  payout,
  start,
  job('discover-indexes', ['index']),
  job('embed-documents', ['embeddings']),
]
