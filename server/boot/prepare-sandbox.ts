import { derivedUuid } from '../../core/ids.ts'
import { SPEND } from '../../core/ledger/postings.ts'
import type { Log } from '../../core/log.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import type { PayoutDeps } from '../../core/payments/payouts/payout.ts'
import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { actorNamed } from '../commands/author.ts'
import { findDivergence } from '../sandbox/divergence.ts'
import { resetChain } from '../sandbox/reset-chain.ts'
import { sellSamplePages } from '../sandbox/sell-pages.ts'
import type { Sandbox } from '../sandbox/start.ts'
import type { Hub } from './hub.ts'
import { listSampleSeller } from './open-discovery.ts'

/** Time of the opening entry: before all other entries. */
const LEDGER_OPENED_AT = new Date('2026-11-01T00:00:00Z')

/**
 * Prepares a sandbox, if the hub is one, before anything else uses it: posts its opening balance,
 * continues on a replaced chain, and lists the sample seller and pages.
 * @returns a text for the operator if the chain was replaced, or does not fit the ledger
 */
export async function prepareSandbox(
  sandbox: Sandbox | undefined,
  hub: Hub,
  payouts: Pick<PayoutDeps, 'pool' | 'account' | 'settle' | 'minimum' | 'rules'>,
  log: Log,
): Promise<string | undefined> {
  if (!sandbox) return undefined
  await postSpendOpening(hub, sandbox)
  const notice = sandbox.replacedChain
    ? await continueOnNewChain(sandbox, hub, payouts)
    : await describeDivergence(sandbox, hub)
  if (notice !== undefined) log.info(notice)
  await allowOutgoing(sandbox, hub, log)
  await listSampleSeller(hub.discovery, sandbox.sellerUrl, log)
  await sellSamplePages({ ...hub, proofKeys: hub.secretKeys.of('domain-proofs') }, sandbox)
  return notice
}

/** Posts the spend wallet's opening balance, with the block that reconciliation starts from. */
async function postSpendOpening({ ledger }: Hub, { money, spendOpening }: Sandbox): Promise<void> {
  const owner = await ledger.account(SPEND)
  const { number } = await money.chain.head()
  const id = derivedUuid(LEDGER_OPENED_AT, money.spend.address)
  const event = { type: 'balance.opened', account: SPEND, amount: spendOpening } as const
  await ledger.post(event, { owner, id, meta: { block: String(number) } })
}

/** Reconciles after a restart, so that payments to sellers are on when the hub serves. */
async function allowOutgoing(
  { money: { chain, finality, treasury, spend } }: Sandbox,
  { pool }: Hub,
  log: Log,
): Promise<void> {
  if (!(await new OutgoingSwitch(pool).state())?.paused) return
  const wallets = { treasury, spend: spend.address }
  await reconcile({ pool, chain, finality, wallets }).catch((err: unknown) => {
    log.warn({ err }, 'payments to sellers stay paused until reconciliation succeeds')
  })
}

async function continueOnNewChain(
  sandbox: Sandbox,
  { pool, ledger, paymentDeps: payments }: Hub,
  payouts: Parameters<typeof prepareSandbox>[2],
): Promise<string> {
  const closed = await resetChain(sandbox, {
    pool,
    ledger,
    payments,
    payouts: { ...payments, ...payouts },
    by: actorNamed('sandbox'),
  })
  const archive = sandbox.replacedChain?.archive
  const { received, sent, payouts: owed } = closed
  return [
    `The sandbox has a new chain. The old one ${archive ? `is in ${archive}` : 'was lost'}.`,
    'The platform wallets hold what the ledger says; wallets of agents need test USDC again.',
    `Closed: ${received} received and ${sent} sent payments, ${owed} payouts.`,
  ].join('\n')
}

/** Describes how chain and ledger differ, and what to do; undefined if they agree. */
async function describeDivergence(
  { money, wallets }: Sandbox,
  { pool, ledger }: Hub,
): Promise<string | undefined> {
  const { treasury, spend } = wallets
  const addresses = { treasury: treasury.account.address, spend: spend.account.address }
  const difference = await findDivergence({ pool, ledger, chain: money.chain, wallets: addresses })
  return (
    difference &&
    [
      'WARNING: the chain and the ledger of this sandbox do not belong together.',
      difference,
      'One of them was restored from an older state, or lost. Payments may stay open, and',
      'reconciliation will report exceptions. Stop the hub, and either restore both from the same',
      'time, or run `npm start -- --reset-chain`: it archives the chain and starts one on which',
      'the platform wallets hold what the ledger says. Open payments of the old chain are closed.',
    ].join('\n')
  )
}
