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
  readWalletBalances,
  type WalletBalances,
  type WalletBalancesDeps,
} from '../../core/payments/operations/wallet-balances.ts'

/** A collector gives up after ten seconds. */
const READ_TIMEOUT_MS = 6_000

/**
 * The figures of this instant in Prometheus' text format. What cannot be read is left out, and
 * `hub_database_up` or `hub_chain_up` says so: an old figure would look like a new one.
 */
export async function collectGauges(ports: WalletBalancesDeps): Promise<string> {
  const registry = new Registry()
  const read = await withTimeout(READ_TIMEOUT_MS, readSnapshot(ports))
  addGauge(registry, 'hub_database_up', 'Whether the database answers.', read ? 1 : 0)
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

async function readSnapshot(ports: WalletBalancesDeps): Promise<Snapshot> {
  const { pool } = ports
  const [open, state, today, wallets, ledger] = await Promise.all([
    summarizeOpenPayments(pool),
    new OutgoingSwitch(pool).state(),
    readOutflowToday(pool),
    readWalletBalances(ports),
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
  addLabeledGauge(registry, name, 'Payments whose outcome or finality is open.', states)
  const age = 'hub_unresolved_payment_oldest_seconds'
  addGauge(registry, age, 'Age of the oldest of them; 0: there is none.', Math.max(0, ...oldest))
  const switched = 'hub_outgoing_paused'
  addGauge(registry, switched, 'Whether payments to sellers are paused.', paused ? 1 : 0)
  const out = 'hub_outflow_today_microdollars'
  addGauge(registry, out, 'Signed for sellers in this UTC day, less what none took.', outflow)
}

function addWalletGauges(registry: Registry, { chain, books, gas }: WalletBalances): void {
  addGauge(registry, 'hub_chain_up', 'Whether the node of the chain answers.', chain ? 1 : 0)
  const named = (of: { readonly treasury: bigint; readonly spend: bigint }) =>
    (['treasury', 'spend'] as const).map((wallet) => [{ wallet }, of[wallet]] as const)
  if (chain) {
    addLabeledGauge(registry, 'hub_wallet_usdc_microdollars', 'USDC on chain.', named(chain))
    if (chain.gas !== undefined)
      addGauge(registry, 'hub_gas_gwei', 'ETH for gas on chain.', chain.gas)
  }
  addLabeledGauge(registry, 'hub_ledger_wallet_microdollars', 'USDC by the books.', named(books))
  const differences = 'hub_ledger_exceptions'
  addLabeledGauge(
    registry,
    differences,
    'Unexplained differences to the chain.',
    named(books.exceptions),
  )
  if (gas)
    addGauge(registry, 'hub_gas_low', 'Whether the gas wallet needs ETH soon.', gas.low ? 1 : 0)
}

function addLedgerGauges(registry: Registry, { entries, holds }: LedgerFigures): void {
  addGauge(registry, 'hub_ledger_entries', 'Entries of the journal.', entries)
  addGauge(registry, 'hub_ledger_holds_microdollars', 'Held for calls under way.', holds)
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
