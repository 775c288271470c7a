import { statfs } from 'node:fs/promises'
import { Gauge, Registry } from 'prom-client'
import { withTimeout } from '../../core/clock.ts'
import {
  type OperatingFigures,
  readOperatingFigures,
} from '../../core/finance/operating-figures.ts'
import {
  type LastVerification,
  readLastVerification,
} from '../../core/ledger/verify/last-verification.ts'
import { assetOf } from '../../core/payments/chain/asset.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import {
  type LedgerFigures,
  OPEN_STATES,
  type OpenPaymentGroup,
  readLedgerFigures,
  readOutflowToday,
  summarizeOpenPayments,
} from '../../core/payments/operations/overview.ts'
import {
  type BalancesDeps,
  type NetworkBalance,
  readWalletBalances,
  type WalletBalances,
} from '../../core/payments/operations/wallet-balances.ts'
import { treasuryOn, walletsOn } from '../../core/reconciliation/wallets.ts'
import type { GaugeValues, Samples } from './gauge-values.ts'
import { operatingGauges } from './operating-gauges.ts'

/** Stays below the scrape timeout of Prometheus, 10 s. */
const READ_TIMEOUT_MS = 6_000

export interface GaugesDeps extends BalancesDeps {
  readonly dataDir: string
}

/**
 * Reads payments, wallets and ledger, and renders them in Prometheus' text format. Omits what
 * cannot be read, because an old value would look current, and reports it by `hub_database_up` or
 * `hub_chain_up`.
 */
export async function collectGauges(deps: GaugesDeps): Promise<string> {
  const [snapshot, freeSpace] = await Promise.all([
    withTimeout(READ_TIMEOUT_MS, readSnapshot(deps)),
    readFreeSpace(deps.dataDir),
  ])
  const registry = new Registry()
  for (const [name, help, values] of [
    ['hub_database_up', '1 if the database responds.', snapshot ? 1 : 0] as const,
    ...freeSpace,
    ...(snapshot ? gaugesOf(snapshot) : []),
  ]) {
    const samples = typeof values === 'object' ? values : ([[{}, values]] as const)
    // A gauge without labels would be 0: of replicas, for example, that do not exist.
    if (samples.length === 0) continue
    const labelNames = Object.keys(samples[0]?.[0] ?? {})
    const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
    for (const [labels, value] of samples) gauge.set({ ...labels }, Number(value))
  }
  return registry.metrics()
}

/** Share of the disk that processes without privileges may still fill; none without the folder. */
async function readFreeSpace(folder: string): Promise<readonly GaugeValues[]> {
  const disk = await statfs(folder).catch(() => undefined)
  if (disk === undefined) return []
  const help = 'Free share of the disk of HUB_DATA_DIR.'
  return [['hub_disk_free_ratio', help, disk.bavail / disk.blocks]]
}

interface Snapshot {
  readonly open: readonly OpenPaymentGroup[]
  readonly paused: boolean
  readonly outflow: bigint
  readonly wallets: WalletBalances
  readonly ledger: LedgerFigures
  readonly verification: LastVerification | undefined
  readonly operating: OperatingFigures
}

async function readSnapshot(deps: BalancesDeps): Promise<Snapshot> {
  const { pool } = deps
  const [open, state, today, wallets, ledger, verification, operating] = await Promise.all([
    summarizeOpenPayments(pool),
    new OutgoingSwitch(pool).state(),
    readOutflowToday(pool),
    readWalletBalances(deps),
    readLedgerFigures(pool),
    readLastVerification(pool),
    readOperatingFigures(pool, walletsOn(deps.networks)),
  ])
  const paused = state?.paused ?? false
  return { open, paused, outflow: today.platform, wallets, ledger, verification, operating }
}

const gaugesOf = (snapshot: Snapshot): readonly GaugeValues[] => [
  ...paymentGauges(snapshot),
  ...walletGauges(snapshot.wallets),
  ...ledgerGauges(snapshot),
  ...operatingGauges(snapshot.operating),
]

function ledgerGauges({ ledger, verification }: Snapshot): readonly GaugeValues[] {
  const isSound = verification === undefined || verification.failures.length === 0
  const age = verification?.soundAgeSeconds ?? null
  const ageHelp = 'Seconds since the last verification that found no violation.'
  const gauges: GaugeValues[] = [
    ['hub_ledger_entries', 'Journal entries.', ledger.entries],
    ['hub_ledger_holds_microdollars', 'Reserved for calls in flight.', ledger.holds],
    ['hub_ledger_sound', '0 if the last verification found a violation.', isSound ? 1 : 0],
  ]
  if (age !== null) gauges.push(['hub_ledger_verified_seconds', ageHelp, age])
  const fullAge = verification?.fullSoundAgeSeconds ?? null
  const fullHelp = 'Seconds since the last verification of all entries that found no violation.'
  if (fullAge !== null) gauges.push(['hub_ledger_fully_verified_seconds', fullHelp, fullAge])
  return gauges
}

function paymentGauges({ open, paused, outflow }: Snapshot): readonly GaugeValues[] {
  const states = (['in', 'out'] as const).flatMap((direction) =>
    OPEN_STATES[direction].map((state) => {
      const found = open.find((each) => each.direction === direction && each.state === state)
      return [{ direction, state }, found?.count ?? 0n] as const
    }),
  )
  const age = Math.max(0, ...open.map(({ oldestSeconds }) => oldestSeconds))
  const sum = (of: (group: OpenPaymentGroup) => bigint): bigint =>
    open.reduce((total, group) => total + of(group), 0n)
  const byAge = [
    [{ age: '1h' }, sum(({ hourOld }) => hourOld)],
    [{ age: '24h' }, sum(({ dayOld }) => dayOld)],
  ] as const
  const outflowHelp = 'Signed for sellers this UTC day, less unused payments.'
  return [
    ['hub_unresolved_payments', 'Payments whose outcome or finality is pending.', states],
    ['hub_unresolved_payments_older', 'Unresolved payments that are at least this old.', byAge],
    ['hub_unresolved_payment_oldest_seconds', 'Age of the oldest unresolved payment.', age],
    ['hub_outgoing_paused', '1 if payments to sellers are paused.', paused ? 1 : 0],
    ['hub_outflow_today_microdollars', outflowHelp, outflow],
  ]
}

function walletGauges({ chain, ledger, gas, networks }: WalletBalances): readonly GaugeValues[] {
  const byWallet = (of: { readonly treasury: bigint; readonly spend: bigint }): Samples =>
    (['treasury', 'spend'] as const).map((wallet) => [{ wallet }, of[wallet]])
  const further = (of: (network: NetworkBalance) => bigint | undefined): Samples =>
    networks.flatMap((each) => {
      const value = of(each)
      const wallet = treasuryOn(assetOf(each.network).v1Network)
      return value === undefined ? [] : [[{ wallet }, value] as const]
    })
  const books = [...byWallet(ledger), ...further((each) => each.ledger)]
  const differences = [...byWallet(ledger.exceptions), ...further((each) => each.exceptions)]
  const onChain = [...(chain ? byWallet(chain) : []), ...further((each) => each.chain)]
  const gauges: GaugeValues[] = [
    ['hub_chain_up', '1 if the blockchain node responds.', chain ? 1 : 0],
    ['hub_ledger_wallet_microdollars', 'USDC balance in the ledger.', books],
    ['hub_ledger_exceptions', 'Unexplained differences.', differences],
  ]
  if (onChain.length > 0) gauges.push(['hub_wallet_usdc_microdollars', 'USDC on chain.', onChain])
  if (chain?.gas !== undefined) gauges.push(['hub_gas_gwei', 'ETH for gas on chain.', chain.gas])
  if (gas) gauges.push(['hub_gas_low', '1 if the gas wallet needs ETH soon.', gas.low ? 1 : 0])
  return gauges
}
