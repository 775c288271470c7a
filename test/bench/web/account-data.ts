import { systemClock } from '../../../core/clock.ts'
import { readConfig } from '../../../core/config.ts'
import { createLog } from '../../../core/log.ts'
import { micros } from '../../../core/money.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { startPayouts } from '../../../core/payments/payouts/start.ts'
import type { RunningHub } from '../../../server/boot/start.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { ask } from '../../support/ask.ts'
import { personWith } from '../../support/person.ts'
import { API, type Person } from './test-data.ts'

/** Ids of the account's call, webhook, domain, API and payout, as used in page paths. */
export interface AccountData {
  readonly call: string
  readonly webhook: string
  readonly domain: string
  readonly api: string
  readonly payout: string
}

/** Exceeds the total of half of all calls. */
const SPEND = 1_000_000_000_000n

/**
 * Adds a call, a webhook, a domain, an API, and a payout of the earnings of half of the journal.
 */
export async function addAccountData(hub: RunningHub, { token }: Person): Promise<AccountData> {
  const person = personWith(hub.url, 'bench@example.test', `hub_session=${token}`)
  const make = async (path: string, body: object) => {
    const response = await person.ask(path, { body })
    if (response.status !== 201) throw new Error(`${path}: ${response.text}`)
    return response.body
  }
  const { api_key: key } = await make('/v1/keys', { name: 'Caller' })
  const call = { key: String(key), body: { text: 'Lovely staff, noisy room.' } }
  const response = await ask(hub.url, '/proxy/analysis/sentiment', call)
  const webhook = await make('/v1/webhooks', {
    url: 'https://example.com/hub-events',
    events: ['balance.low'],
  })
  const domain = await make('/v1/domains', { domain: 'https://harbour-post.org' })
  await make('/v1/provider/services', {
    slug: API,
    name: 'Tides',
    category: 'data',
    summary: 'Tides by harbour and day.',
    base_url: 'https://harbour-post.org/v2',
  })
  const endpoints = ['/tides', '/harbours'].map((path) => ({
    method: 'GET',
    path,
    summary: 'What it does.',
    price_microdollars: 3_000,
  }))
  await person.ask(`/v1/provider/services/${API}/endpoints`, { method: 'PUT', body: { endpoints } })
  return {
    call: String(response.headers['x-call-id']),
    webhook: String(webhook['webhook_id']),
    domain: String(domain['domain_id']),
    api: API,
    payout: await payOut(hub),
  }
}

/** Posts a payout without sending it. */
async function payOut({ hub, sandbox }: RunningHub): Promise<string> {
  const { wallets, rpcUrl, money } = sandbox!
  const { account } = wallets.spend
  await fund(rpcUrl, account.address, { usdc: SPEND })
  const started = await startPayouts({
    ...hub.paymentDeps,
    pool: hub.financePool,
    ledger: hub.ledger,
    chain: money.chain,
    clock: systemClock,
    log: createLog('silent'),
    asset: USDC_BASE,
    account,
    settle: () => Promise.reject(new Error('nothing is sent')),
    minimum: micros(1n),
    rules: {
      ...readConfig({}).payouts.rules,
      providerCap: micros(SPEND),
      platformCap: micros(SPEND),
      alone: micros(SPEND),
    },
  })
  const { rows } = await hub.pool.query<{ id: string }>('SELECT id FROM hub.payout')
  if (started !== 1 || !rows[0]) throw new Error('no payout was started')
  return rows[0].id
}
