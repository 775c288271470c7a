import type { Pool } from 'pg'
import { readReconciled } from '../../../core/finance/operating-figures.ts'
import { decimal } from '../../../core/money.ts'
import { type GasState, readGasState } from '../../../core/payments/facilitators/gas-wallet.ts'
import { finalityOn, type NetworkFinality } from '../../../core/payments/networks.ts'
import { forecastPayment } from '../../../core/payments/operations/forecast.ts'
import {
  AUTOMATIC_PAUSE_ADVICE,
  OutgoingSwitch,
  type SwitchState,
} from '../../../core/payments/operations/outgoing-switch.ts'
import {
  type LedgerBalances,
  listPayments,
  type OpenPaymentGroup,
  type OutflowToday,
  readLedgerBalances,
  readOutflowToday,
  summarizeOpenPayments,
} from '../../../core/payments/operations/overview.ts'
import { listStartedPayouts, type StartedPayout } from '../../../core/payments/payouts/list.ts'
import { type Command, EXIT_FAILED, toJson } from '../command.ts'
import { age } from './age.ts'

const PAGE = 1_000
const RECONCILED_WALLETS = ['treasury', 'spend'] as const
const NEVER_PAUSED = {
  paused: false,
  automatic: false,
  author: null,
  reason: null,
  at: null,
} as const

/** Addresses of the platform wallets by name; none if they cannot be read here. */
export type WalletAddresses = Readonly<Record<string, string>>

export const statusCommand = (
  finality: NetworkFinality,
  addresses: () => Promise<WalletAddresses>,
): Command => ({
  usage: '[--json]',
  description: `payments to sellers: paused or not, sent today, open payments, payouts that are
not final, wallets with their balances by the ledger; exit code 1 if payments are paused or one is
overdue`,
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const status = await readStatus(await pool(), finality, await addresses())
    if (values['json'] === true) await write(toJson(status))
    else await write(PARTS.flatMap((linesOf) => linesOf(status)).join('\n'))
    return status.paused || status.overdue.length > 0 ? EXIT_FAILED : 0
  },
})

const PARTS = [heading, openLines, payoutLines, walletLines]

interface Status extends Omit<SwitchState, 'author' | 'reason' | 'at'> {
  readonly author: string | null
  readonly reason: string | null
  readonly at: Date | null
  readonly today: OutflowToday
  readonly open: readonly OpenPaymentGroup[]
  readonly overdue: readonly string[]
  readonly payouts: readonly StartedPayout[]
  readonly wallets: LedgerBalances
  readonly addresses: WalletAddresses
  /** Seconds since the last comparison of the wallets with the chain; null before the first. */
  readonly reconciledSeconds: number | null
  /** Last known state; null if the hub pays no gas or has not checked yet. */
  readonly gas: GasState | null
}

async function readStatus(
  pool: Pool,
  finality: NetworkFinality,
  addresses: WalletAddresses,
): Promise<Status> {
  const state = (await new OutgoingSwitch(pool).state()) ?? NEVER_PAUSED
  return {
    ...state,
    today: await readOutflowToday(pool),
    open: await summarizeOpenPayments(pool),
    overdue: await overduePayments(pool, finality),
    payouts: await listStartedPayouts(pool),
    wallets: await readLedgerBalances(pool),
    addresses,
    reconciledSeconds: await reconciledAge(pool),
    gas: (await readGasState(pool)) ?? null,
  }
}

async function reconciledAge(pool: Pool): Promise<number | null> {
  const reconciled = await readReconciled(pool, RECONCILED_WALLETS)
  if (reconciled.length < RECONCILED_WALLETS.length) return null
  return Math.max(...reconciled.map(({ ageSeconds }) => ageSeconds))
}

async function overduePayments(pool: Pool, finality: NetworkFinality): Promise<readonly string[]> {
  const overdue: string[] = []
  let after: string | undefined
  do {
    const rows = await listPayments(pool, { open: true, limit: PAGE, after })
    const late = rows.filter(
      (seen) => forecastPayment(seen, finalityOn(finality, seen.network)).isOverdue,
    )
    overdue.push(...late.map(({ id }) => id))
    after = rows.length === PAGE ? rows.at(-1)?.id : undefined
  } while (after !== undefined)
  return overdue
}

function heading({ paused, automatic, author, reason, at, today }: Status): readonly string[] {
  const state = paused ? 'are PAUSED' : 'are running'
  const why = reason?.replace(/\.$/, '')
  const by = at === null ? '' : `, since ${at.toISOString()} by ${author}: ${why}`
  return [
    `Payments to sellers ${state}${by}.`,
    ...(automatic ? [AUTOMATIC_PAUSE_ADVICE] : []),
    '',
    row(`sent on ${today.day}`, today.platform),
    ...today.hosts.map(({ host, amount }) => row(`  to ${host}`, amount)),
    ...today.keys.map(({ key, amount }) => row(`  by ${key}`, amount)),
    '',
  ]
}

const row = (name: string, amount: bigint, more = ''): string =>
  `${name.padEnd(36)} ${decimal(amount).padStart(16)} USD${more}`

function openLines({ open, overdue }: Status): readonly string[] {
  return [
    open.length === 0 ? 'No payment is open.' : 'open payments',
    ...open.map(({ direction, state, count, amount, oldestSeconds }) =>
      row(
        `  ${direction.padEnd(3)} ${state.padEnd(10)} ${String(count).padStart(8)}`,
        amount,
        `, oldest ${age(oldestSeconds)}`,
      ),
    ),
    ...(overdue.length === 0 ? [] : [`${overdue.length} OVERDUE: npm run payments -- list`]),
    '',
  ]
}

/** Payouts to providers, the oldest first, each with the reason that it is not sent. */
function payoutLines({ payouts }: Status): readonly string[] {
  if (payouts.length === 0) return []
  return [
    'pending payouts',
    ...payouts.map(({ provider, amount, startedAt, transaction, reason }) => {
      const state = transaction === null ? (reason ?? 'not sent yet') : `sent: ${transaction}`
      return row(`  ${provider}`, amount, `, started ${startedAt.toISOString()}, ${state}`)
    }),
    '',
  ]
}

function walletLines(status: Status): readonly string[] {
  const { wallets, gas, addresses } = status
  const { treasury, received, spend, signed, exceptions } = wallets
  const unexplained = exceptions.treasury + exceptions.spend
  return [
    'wallets by the ledger',
    row('  treasury', treasury, `, ${decimal(received)} in transit`),
    row('  spend', spend, `, ${decimal(signed)} signed for sellers`),
    ...(gas ? [`  gas ${gas.balanceGwei} gwei on chain${gas.low ? ', which is LOW' : ''}`] : []),
    ...Object.entries(addresses).map(([name, at]) => `  ${`address of ${name}`.padEnd(22)} ${at}`),
    unexplained === 0n
      ? agreement(status)
      : `${unexplained} difference(s) from the chain: npm run ledger -- exceptions`,
    '',
  ]
}

const agreement = ({ reconciledSeconds: seconds }: Status): string =>
  seconds === null
    ? 'Ledger and chain were never compared: a process with jobs does so once RPC_URL responds.'
    : `Ledger and chain agreed ${age(seconds)} ago.`
