import { privateKeyToAccount } from 'viem/accounts'
import { sleep, systemClock } from '../../../../core/clock.ts'
import { createPool } from '../../../../core/db/pool.ts'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { createLog } from '../../../../core/log.ts'
import { micros } from '../../../../core/money.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { openChain } from '../../../../core/payments/chain/chain.ts'
import { localFacilitator } from '../../../../core/payments/facilitators/local.ts'
import type { PayoutRules } from '../../../../core/payments/payouts/rules.ts'
import { sendPayouts } from '../../../../core/payments/payouts/send.ts'
import { startPayouts } from '../../../../core/payments/payouts/start.ts'
import { createOffers, type Offers } from '../../../../core/payments/receiving/offers.ts'

/** Process that pays providers until nothing is left to do or it is killed. */
const [rpcUrl = '', databaseUrl = '', spendKey = '', gasKey = '', ...rest] = process.argv.slice(2)
const [again = '1', rules = '{}'] = rest
const { network } = USDC_BASE
const pool = createPool(databaseUrl, { role: 'hub_finance', max: 8 })
const facilitator = localFacilitator({
  rpcUrl,
  key: gasKey as `0x${string}`,
  network,
  pool: createPool(databaseUrl, { role: 'hub_app', max: 4 }),
  pollMs: 20,
})
const account = privateKeyToAccount(spendKey as `0x${string}`)
const offers = createOffers({ facilitator, payTo: account.address, network })
const ports = {
  pool,
  ledger: new Ledger(createPool(databaseUrl, { role: 'hub_finance', max: 4 })),
  chain: openChain({ rpcUrl, network }),
  clock: systemClock,
  log: createLog('warn', process.stderr),
  asset: USDC_BASE,
  finality: 1n,
  account,
  settle: (...payment: Parameters<Offers['settle']>) => offers.settle(...payment),
  minimum: micros(1n),
  rules: JSON.parse(rules, (_, value: unknown) =>
    typeof value === 'string' ? BigInt(value) : value,
  ) as PayoutRules,
}
process.stdout.write('ready\n')
for (;;) {
  const started = await startPayouts(ports)
  const open = await sendPayouts(ports, undefined, Number(again))
  const { rows } = await pool.query(`SELECT FROM hub.payout WHERE state = 'started' LIMIT 1`)
  if (started + open + rows.length === 0) break
  await sleep(50)
}
process.exit(0)
