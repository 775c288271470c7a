import { Gauge, Registry } from 'prom-client'
import { withTimeout } from '../../core/clock.ts'
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
  readWalletBalances,
  type WalletBalances,
} from '../../core/payments/operations/wallet-balances.ts'

/** Stays below the scrape timeout of Prometheus, 10 s. */
const READ_TIMEOUT_MS = 6_000

/**
 * Reads payments, wallets and ledger, and renders them in Prometheus' text format. Omits what cannot
 * be read, because an old value would look current, and reports it by `hub_database_up` or
 * `hub_chain_up`.
 */
export async function collectGauges(deps: BalancesDeps): Promise<string> {
  const registry = new Registry()
  const read = await withTimeout(READ_TIMEOUT_MS, readSnapshot(deps))
  addGauge(registry, 'hub_database_up', '1 if the database responds.', read ? 1 : 0)
  if (read) {
    addPaymentGauges(registry, read)
    addWalletGauges(registry, read.wallets)
    addLedgerGauges(registry, read.ledger)
  }
  return registry.metrics()
}

interface Snapshot {
  readonly open: readonly OpenPaymentGroup[]
  readonly paused: boolean
  readonly outflow: bigint
  readonly wallets: WalletBalances
  readonly ledger: LedgerFigures
}

async function readSnapshot(deps: BalancesDeps): Promise<Snapshot> {
  const { pool } = deps
  const [open, state, today, wallets, ledger] = await Promise.all([
    summarizeOpenPayments(pool),
    new OutgoingSwitch(pool).state(),
    readOutflowToday(pool),
    readWalletBalances(deps),
    readLedgerFigures(pool),
  ])
  return { open, paused: state?.paused ?? false, outflow: today.platform, wallets, ledger }
}

function addPaymentGauges(registry: Registry, { open, paused, outflow }: Snapshot): void {
  const states = (['in', 'out'] as const).flatMap((direction) =>
    OPEN_STATES[direction].map((state) => {
      const found = open.find((each) => each.direction === direction && each.state === state)
      return [{ direction, state }, found?.count ?? 0n] as const
    }),
  )
  const oldest = open.map(({ oldestSeconds }) => oldestSeconds)
  const name = 'hub_unresolved_payments'
  addLabeledGauge(registry, name, 'Payments whose outcome or finality is pending.', states)
  const age = 'hub_unresolved_payment_oldest_seconds'
  addGauge(
    registry,
    age,
    'Age of the oldest unresolved payment; 0 if there is none.',
    Math.max(0, ...oldest),
  )
  const pausedName = 'hub_outgoing_paused'
  addGauge(registry, pausedName, '1 if payments to sellers are paused.', paused ? 1 : 0)
  const out = 'hub_outflow_today_microdollars'
  addGauge(registry, out, 'Signed for sellers this UTC day, less unused payments.', outflow)
}

function addWalletGauges(registry: Registry, { chain, ledger, gas }: WalletBalances): void {
  addGauge(registry, 'hub_chain_up', '1 if the blockchain node responds.', chain ? 1 : 0)
  const named = (of: { readonly treasury: bigint; readonly spend: bigint }) =>
    (['treasury', 'spend'] as const).map((wallet) => [{ wallet }, of[wallet]] as const)
  if (chain) {
    addLabeledGauge(
      registry,
      'hub_wallet_usdc_microdollars',
      'USDC balance on chain.',
      named(chain),
    )
    if (chain.gas !== undefined)
      addGauge(registry, 'hub_gas_gwei', 'ETH balance of the gas wallet on chain.', chain.gas)
  }
  addLabeledGauge(
    registry,
    'hub_ledger_wallet_microdollars',
    'USDC balance in the ledger.',
    named(ledger),
  )
  const differences = 'hub_ledger_exceptions'
  addLabeledGauge(
    registry,
    differences,
    'Unexplained differences between ledger and chain.',
    named(ledger.exceptions),
  )
  if (gas) addGauge(registry, 'hub_gas_low', '1 if the gas wallet needs ETH soon.', gas.low ? 1 : 0)
}

function addLedgerGauges(registry: Registry, { entries, holds }: LedgerFigures): void {
  addGauge(registry, 'hub_ledger_entries', 'Journal entries.', entries)
  addGauge(registry, 'hub_ledger_holds_microdollars', 'Reserved for calls in flight.', holds)
}

type Labels = Readonly<Record<string, string>>
type GaugeValue = number | bigint

const addGauge = (registry: Registry, name: string, help: string, value: GaugeValue): void =>
  addLabeledGauge(registry, name, help, [[{}, value]])

function addLabeledGauge(
  registry: Registry,
  name: string,
  help: string,
  values: readonly (readonly [Labels, GaugeValue])[],
): void {
  const labelNames = Object.keys(values[0]?.[0] ?? {})
  const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
  for (const [labels, value] of values) gauge.set({ ...labels }, Number(value))
}
