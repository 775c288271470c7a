import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, HubError, type HubResponse } from '../../../core/client/index.ts'
import { sleep } from '../../../core/clock.ts'
import { expireHolds } from '../../../core/ledger/expire.ts'
import { decimal, usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import type { RunningHub } from '../../boot/start.ts'
import { fund } from '../../sandbox/wallets.ts'
import type { Narrator } from './narrator.ts'

const TEXTS = [
  'The delivery was late, but the staff was lovely and helped at once.',
  'A dreadful manual, a wonderful machine.',
  'Nothing works since the update, and nobody answers the phone.',
]
const FREE_CALLS = 15
const PAID_CALLS = 5

/** Result of the story: calls made, and whether each was charged as expected. */
export interface StoryResult {
  readonly ok: boolean
  readonly calls: number
  readonly charged: bigint
}

/** Counts deliveries and charges, and records deviations from what is expected. */
class Tally {
  calls = 0
  charged = 0n
  readonly deviations: string[] = []

  recordDelivery(answer: HubResponse, source: string, charged: bigint): HubResponse {
    this.calls++
    this.charged += answer.charged
    if (answer.source !== source || answer.charged !== charged) {
      this.deviations.push(
        `expected ${charged} from ${source}, got ${answer.charged} ${answer.source}`,
      )
    }
    return answer
  }
}

/** Plays two agents, a provider and the platform, through the hub's public entry points only. */
export async function playStory(running: RunningHub, tell: Narrator): Promise<StoryResult> {
  const tally = new Tally()
  const ada = await newAgent(running, 'Ada', tell)
  const bob = await newAgent(running, 'Bob', tell)
  await buyCredits(ada, tell)
  await analyze(ada, tally, tell)
  await buyFromProvider(ada, tally, tell)
  await payPerRequest(bob, tally, tell)
  await callListing(running, ada, tally, tell)
  await attemptRefusedCalls(bob, ada, tally, tell)
  await settleChain(running, tell)
  for (const wrong of tally.deviations) tell.fact('UNEXPECTED', wrong)
  return { ok: tally.deviations.length === 0, calls: tally.calls, charged: tally.charged }
}

const dollars = (amount: bigint): string => `${decimal(amount)} USD`

async function newAgent({ sandbox, url }: RunningHub, name: string, tell: Narrator) {
  tell.chapter(`${name} registers with a wallet signature`)
  const account = privateKeyToAccount(generatePrivateKey())
  await fund(sandbox!.rpcUrl, account.address, { usdc: usd('10') })
  const wallet = { account, sandbox: true }
  const { client, keyId } = await new HubClient({ baseUrl: url, wallet }).register()
  tell.fact('wallet', account.address)
  tell.fact('key', `${keyId}, usable at once`)
  return client
}

async function buyCredits(ada: HubClient, tell: Narrator): Promise<void> {
  tell.chapter('Ada buys credits: one USDC transfer, signed by her, settled on the chain')
  const { body } = await ada.purchase(usd('5'))
  tell.fact('transaction', String(body['transaction']))
  tell.fact('balance', dollars(BigInt(String(body['balance_microdollars']))))
}

async function analyze(ada: HubClient, tally: Tally, tell: Narrator): Promise<void> {
  tell.chapter('Ada searches for sentiment analysis and calls what she finds')
  const { body } = await ada.search({ query: 'sentiment of a text' })
  const [hit] = body['data'] as Record<string, unknown>[]
  tell.fact(`found ${String(hit?.['slug'])}`, String(hit?.['why']))
  const slug = String(hit?.['slug'])
  const ask = (i: number) => ada.call(slug, '/sentiment', { text: TEXTS[i % TEXTS.length] })
  for (let i = 0; i < FREE_CALLS; i++) tally.recordDelivery(await ask(i), 'free', 0n)
  tell.fact(`${FREE_CALLS} calls`, 'free, every month')
  for (let i = 1; i < PAID_CALLS; i++) tally.recordDelivery(await ask(i), 'credits', usd('0.002'))
  const { body: answer } = tally.recordDelivery(await ask(0), 'credits', usd('0.002'))
  tell.fact(`${PAID_CALLS} calls`, `${dollars(usd('0.002'))} each, from credits`)
  const { overall } = answer['result'] as { overall: { label: string; score: number } }
  tell.fact(`“${TEXTS[0]}”`, `${overall.label} (${overall.score})`)
}

async function buyFromProvider(ada: HubClient, tally: Tally, tell: Narrator): Promise<void> {
  tell.chapter('Ada calls a provider’s service: 90 % for the provider, 10 % commission')
  for (let i = 0; i < 10; i++) {
    tally.recordDelivery(
      await ada.call('echo', '/say', { words: `${i}` }),
      'credits',
      usd('0.0001'),
    )
  }
  tell.fact('10 calls at 0.0001 USD', 'provider 0.000900 USD, platform 0.000100 USD')
}

async function payPerRequest(bob: HubClient, tally: Tally, tell: Narrator): Promise<void> {
  tell.chapter('Bob has no credits and pays a single request by x402')
  const input = { words: 'paid on the spot' }
  const answer = await bob.call('echo', '/say', input, { payUpTo: usd('0.01') })
  tally.recordDelivery(answer, 'x402', usd('0.0001'))
  tell.fact('charged', `${dollars(answer.charged)}, settled on the chain`)
}

async function callListing(
  { sandbox }: RunningHub,
  ada: HubClient,
  tally: Tally,
  tell: Narrator,
): Promise<void> {
  tell.chapter('Ada calls a third-party x402 API; her credits pay its exact price')
  const answer = await ada.external({ url: `${sandbox!.sellerUrl}/weather?city=Oslo` })
  tally.recordDelivery(answer, 'credits', usd('0.01'))
  tell.fact('answer', JSON.stringify(answer.body))
  tell.fact('charged', dollars(answer.charged))
}

async function attemptRefusedCalls(bob: HubClient, ada: HubClient, tally: Tally, tell: Narrator) {
  tell.chapter('Refused calls say why, and cost nothing')
  const refusals: readonly (readonly [string, string, () => Promise<HubResponse>])[] = [
    ['insufficient_credits', 'no credits', () => bob.call('echo', '/say', { words: 'x' })],
    ['validation_failed', 'a wrong field', () => ada.call('echo', '/say', { word: 'x' })],
    ['service_not_found', 'no such service', () => ada.call('nowhere', '/x', {})],
    [
      'price_exceeds_max',
      'above the caller’s maximum price',
      () => ada.call('echo', '/say', { words: 'x' }, { maxPrice: 50n }),
    ],
    ['plugin_failed', 'a service that fails: refunded', () => ada.call('flaky', '/try', {})],
    ['invalid_api_key', 'a wrong key', () => ada.withKey('ahk_wrong').balance()],
  ]
  const before = await ada.balance()
  for (const [code, why, attempt] of refusals) {
    const error = await attempt().catch((thrown: unknown) => thrown)
    const got = error instanceof HubError ? error : undefined
    if (got?.code !== code) tally.deviations.push(`expected ${code}, got ${String(error)}`)
    tell.fact(`${got?.status ?? '?'} ${code}`, why)
  }
  const after = await ada.balance()
  const unchanged = before.body['balance_microdollars'] === after.body['balance_microdollars']
  if (!unchanged) tally.deviations.push('a refused call changed the balance')
  tell.fact('balance', unchanged ? 'unchanged' : 'CHANGED')
}

/** Waits until the chain has confirmed every transfer, so that nothing is "in transit". */
async function settleChain({ hub, sandbox }: RunningHub, tell: Narrator): Promise<void> {
  tell.chapter('The chain confirms')
  for (let tries = 0; tries < 60; tries++) {
    await resolvePayments(hub.paymentDeps, 0)
    if ((await resolvePayments(hub.paymentDeps, 0)) === 0) break
    await sleep(250)
  }
  await expireHolds(hub.pool, hub.ledger)
  const { chain, treasury } = sandbox!.money
  tell.fact('treasury on chain', dollars(await chain.balanceOf(treasury)))
  const owed: bigint = await hub.ledger.balance('assets:usdc:base:treasury')
  tell.fact('treasury in the ledger', dollars(-owed))
}
