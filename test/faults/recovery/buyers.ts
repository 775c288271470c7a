import { createPermit2ApprovalTx } from '@x402/evm'
import { createWalletClient, http } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/op-stack'
import { HubClient } from '../../../core/client/index.ts'
import { createSignInHeader } from '../../../core/client/sign-in.ts'
import { sleep } from '../../../core/clock.ts'
import { type Asset, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import type { Random } from '../../conservation/random.ts'
import type { SellerBehavior } from '../../conservation/seller-behaviors.ts'
import type { Clients } from './client.ts'
import { type Deployment, SECOND, WEBHOOK_HOST } from './deployment.ts'
import { usageOf } from './metered-usage.ts'
import { MPP_ACTS, mppOrder, uptoOrder } from './rail-sellers.ts'
import type { Answer, LoggedRequest } from './request-log.ts'
import { type Signer, signExact, signMpp, signUpto } from './sign-rails.ts'

/** Client with an API key, or a wallet that pays each request. */
export interface Buyer {
  readonly name: string
  readonly account: PrivateKeyAccount
  /** Initial funding of the wallet on both networks, in microdollars. */
  readonly funded: bigint
  readonly ip: string
  readonly keyId?: string | undefined
  readonly apiKey?: string | undefined
}

export interface BuyerDeps {
  readonly deployment: Deployment
  readonly clients: Clients
  readonly random: Random
}

const FUNDED_MICROS = 20_000_000_000n
const FIRST_CREDITS_MICROS = 20_000_000
const GAS_WEI = 10n ** 18n
const CAP_MICROS = 30_000
/** Highest price that is signed by a challenge, in microdollars. */
const PRICE_MAX = 1_000n
/** Share of calls without an Idempotency-Key, which nobody may repeat. */
const UNNAMED_SHARE = 0.2
/** Share of metered purchases whose seller fails before it takes anything. */
const FAILING_SHARE = 0.2
const PAUSE_MS = 400
/** Milliseconds after which the next request is sent, though the last one is not final. */
const TIMEOUT_MS = 2_000
/** Requests of one buyer without a final answer, beyond which it waits. */
const OPEN_MAX = 3

/** Sellers that take the money and fail, respond late, or lie about their receipt. */
const BEHAVIORS: readonly SellerBehavior[] = [
  ...Array.from({ length: 8 }, () => 'honest' as const),
  'honest in two seconds',
  'fails before settling',
  'fails, settles later',
  'settles and fails',
  'settles and disconnects',
  'settles and truncates the response',
  'no receipt',
  'receipt of failure, settled',
  'forged transaction, settled',
  'forged transaction, never settled',
  'demands payment again',
]

type Send = (buyer: Buyer, deps: BuyerDeps, n: number) => Promise<unknown>

/** Kinds of requests, each sent by buyers of its own. */
const KEYED: Readonly<Record<string, Send>> = {
  credits: (buyer, deps, n) => sendCall('credits', '/proxy/steady/work', buyer, deps, n),
  free: (buyer, deps, n) => sendCall('free', '/proxy/quota/work', buyer, deps, n),
  'free units': (buyer, deps, n) =>
    sendCall('free units', '/proxy/metered-quota/work', buyer, deps, n),
  stream: (buyer, deps, n) => sendCall('stream', '/proxy/steady/stream', buyer, deps, n),
  metered: (buyer, deps, n) => sendCall('metered', '/proxy/metered/work', buyer, deps, n),
  siwx: sendSignedIn,
  external: sendExternal,
  'external mpp': (buyer, deps, n) => {
    const act = deps.random.pick(MPP_ACTS)
    return buyExternal(mppOrder(act, n), act === 'sell' ? 'honest' : act, buyer, deps, n)
  },
  'external upto': (buyer, deps, n) => {
    const fails = deps.random.chance(FAILING_SHARE)
    return buyExternal(uptoOrder(n, fails), fails ? 'fails' : 'honest', buyer, deps, n)
  },
  'top-up': (buyer, deps, n) => buyCredits(5_000_000 + n, n, buyer, deps),
  'top-up polygon': (buyer, deps, n) => buyCredits(5_000_000 + n, n, buyer, deps, SECOND),
  'sub-key': exhaustSubKey,
}
const KEYLESS: Readonly<Record<string, Send>> = {
  x402: (buyer, deps, n) => pay('x402', '/proxy/steady/work', { n }, buyer, deps),
  'x402 upfront': (buyer, deps, n) => pay('x402 upfront', '/proxy/steady/dear', { n }, buyer, deps),
  'x402 polygon': (buyer, deps, n) => {
    const path = n % 2 === 0 ? '/proxy/steady/work' : '/proxy/steady/dear'
    return pay('x402 polygon', path, { n }, buyer, deps, signExact(SECOND), SECOND.network)
  },
  mpp: (buyer, deps, n) => pay('mpp', '/proxy/steady/work', { n }, buyer, deps, signMpp),
  upto: (buyer, deps, n) => {
    const sign = signUpto(deps.deployment.rpcUrl, usageOf(n))
    return pay('upto', '/proxy/metered/work', { n }, buyer, deps, sign)
  },
  'sign-in': (buyer, { clients }, n) => {
    const body = { email: `${buyer.name}-${n}@example.com`.replaceAll(' ', '-') }
    const logged = { kind: 'sign-in', client: buyer.name, path: '/v1/account/sign-in', body }
    return clients.send({ ip: `10.${200 + (n >> 8)}.${n & 255}.1`, logged })
  },
}
const PER_KIND = 2
/** More wallets for metered payments: one whose permit expired in a fault must use credits. */
const MORE: Readonly<Record<string, number>> = { upto: 6 }

/** Kinds of buyers: every rail, and what else may be asked of a hub. */
export const KINDS = [...Object.keys(KEYED), ...Object.keys(KEYLESS)]
export const kindOf = (name: string): string => name.replace(/ \d+$/, '')

/** Creates and funds the buyers; those with a key register and buy credits. */
export async function createBuyers(deps: BuyerDeps): Promise<readonly Buyer[]> {
  const kinds = KINDS.flatMap((kind) =>
    Array.from({ length: MORE[kind] ?? PER_KIND }, (_, n) => ({ kind, name: `${kind} ${n}` })),
  )
  const buyers: Buyer[] = []
  for (const [n, { kind, name }] of kinds.entries()) {
    const account = privateKeyToAccount(generatePrivateKey())
    const { rpcUrl, secondChain } = deps.deployment
    await fund(rpcUrl, account.address, { usdc: FUNDED_MICROS })
    await fund(secondChain.rpcUrl, account.address, { usdc: FUNDED_MICROS }, SECOND.address)
    if (kind === 'upto') await approvePermit2(account, rpcUrl)
    const buyer = { name, account, funded: 2n * FUNDED_MICROS, ip: `10.${n}.0.1` }
    buyers.push(kind in KEYED ? await register(buyer, deps) : buyer)
  }
  return buyers
}

/** Approves Permit2, so that concurrent calls of a wallet need no permit of USDC. */
async function approvePermit2(account: PrivateKeyAccount, rpcUrl: string): Promise<void> {
  await fund(rpcUrl, account.address, { wei: GAS_WEI })
  const wallet = createWalletClient({ account, chain: base, transport: http(rpcUrl) })
  await wallet.sendTransaction(createPermit2ApprovalTx(USDC_BASE.address))
}

async function register(buyer: Buyer, deps: BuyerDeps): Promise<Buyer> {
  const { url } = deps.deployment
  const wallet = { account: buyer.account, sandbox: true }
  const { apiKey, keyId } = await new HubClient({ baseUrl: url, wallet }).register()
  const keyed = { ...buyer, apiKey, keyId }
  await buyCredits(FIRST_CREDITS_MICROS, 'first', keyed, deps)
  const body = { url: `http://${WEBHOOK_HOST}/${keyId}`, events: ['call.refunded'] }
  await deps.clients.ask({ path: '/v1/webhooks', body, apiKey, ip: buyer.ip })
  return keyed
}

/** Buys credits on one network, under a name of its own. */
function buyCredits(
  amount: number,
  n: number | 'first',
  buyer: Buyer,
  deps: BuyerDeps,
  asset: Asset = USDC_BASE,
) {
  const body = {
    amount_microdollars: amount,
    purchase_id: `${buyer.name}-${n}`.replaceAll(' ', '-'),
  }
  const network = asset === USDC_BASE ? undefined : asset.network
  return pay('top-up', '/v1/credits/purchase', body, buyer, deps, signExact(asset), network)
}

/**
 * Sends requests of the buyer's kind until `hasEnded`, and waits until all have final answers. A
 * request that is repeated for long does not hold up the next one.
 */
export async function runBuyer(
  buyer: Buyer,
  deps: BuyerDeps,
  hasEnded: () => boolean,
): Promise<void> {
  const kind = kindOf(buyer.name)
  const send = (KEYED[kind] ?? KEYLESS[kind])!
  const sending = new Set<Promise<unknown>>()
  for (let n = 0; !hasEnded(); n++) {
    const sent = send(buyer, deps, n).finally(() => sending.delete(sent))
    sending.add(sent)
    const isBusy = kind === 'sub-key' || sending.size === OPEN_MAX
    await (isBusy ? Promise.race(sending) : Promise.race([sent, sleep(TIMEOUT_MS)]))
    await sleep(PAUSE_MS)
  }
  await Promise.all(sending)
}

function nameOf({ name }: Buyer, { random }: BuyerDeps, n: number): string | undefined {
  return random.chance(UNNAMED_SHARE) ? undefined : `${name}-${n}`.replaceAll(' ', '-')
}

function sendCall(kind: string, path: string, buyer: Buyer, deps: BuyerDeps, n: number) {
  const idempotencyKey = nameOf(buyer, deps, n)
  const { name: client, keyId, apiKey, ip } = buyer
  const logged = { kind, client, keyId, path, body: { n }, idempotencyKey }
  return deps.clients.send({ apiKey, ip, logged })
}

function sendExternal(buyer: Buyer, deps: BuyerDeps, n: number): Promise<Answer> {
  const { random, deployment } = deps
  const seller = random.pick(BEHAVIORS)
  const amount = BigInt(random.between(1_001, 9_999))
  const url = deployment.market.urlOf({ offer: 'version 2', behavior: seller, amount }, random)
  return buyExternal({ url }, seller, buyer, deps, n)
}

/** Buys from an external seller. @param seller its behavior */
function buyExternal(
  body: LoggedRequest['body'],
  seller: string,
  buyer: Buyer,
  deps: BuyerDeps,
  n: number,
): Promise<Answer> {
  const idempotencyKey = nameOf(buyer, deps, n)
  const { name: client, keyId, apiKey, ip } = buyer
  const call = { kind: 'external', path: '/proxy/external', body, seller, idempotencyKey }
  return deps.clients.send({ apiKey, ip, logged: { ...call, client, keyId } })
}

/** Spends credits by signing the challenge of a 402, anew for each attempt. */
function sendSignedIn(buyer: Buyer, deps: BuyerDeps, n: number): Promise<Answer> {
  const { name: client, keyId, ip, account } = buyer
  const { clients, deployment } = deps
  const [path, body] = ['/proxy/steady/work', { n }]
  const signIn = async () => {
    const { status, headers = {} } = await clients.ask({ path, body, ip })
    if (status !== 402 || headers['payment-required'] === undefined) return undefined
    return createSignInHeader(account, { headers }, new URL(path, deployment.url), PRICE_MAX)
  }
  const idempotencyKey = nameOf(buyer, deps, n)
  return clients.send({
    ip,
    signIn,
    logged: { kind: 'siwx', client, keyId, path, body, idempotencyKey },
  })
}

/** Asks for the offer, signs it, and sends the payment until the final answer. */
async function pay(
  kind: string,
  path: string,
  body: LoggedRequest['body'],
  buyer: Buyer,
  { clients }: BuyerDeps,
  sign: Signer = signExact(USDC_BASE),
  network?: string,
): Promise<Answer | undefined> {
  const { name: client, keyId, apiKey, ip } = buyer
  const offered = await clients.ask({ path, body, apiKey, ip })
  if (offered.status !== 402 || !offered.headers?.['payment-required']) return undefined
  // The node, which some clients ask, may be unreachable.
  const signed = await sign(buyer.account, offered).catch(() => undefined)
  if (!signed) return undefined
  const { headers: paymentHeaders, payment } = signed
  const logged = { kind, client, keyId, path, body, payment, network }
  return clients.send({ apiKey, ip, paymentHeaders, logged })
}

/** Spends a sub-key up to its limit, which must be exact. */
async function exhaustSubKey(buyer: Buyer, deps: BuyerDeps, n: number): Promise<void> {
  const { clients } = deps
  const body = { max_total_microdollars: CAP_MICROS }
  const response = await clients.ask({ path: '/v1/keys', body, apiKey: buyer.apiKey, ip: buyer.ip })
  if (response.status !== 201) return
  const { api_key: apiKey, key_id: subKeyId } = response.body as { api_key: string; key_id: string }
  const calls = CAP_MICROS / 1_000 + 1
  for (let m = 0; m < calls; m++) {
    const call = { path: '/proxy/steady/work', body: { n: m }, idempotencyKey: `${n}-${m}` }
    const logged = { kind: 'sub-key', client: buyer.name, keyId: buyer.keyId, subKeyId, ...call }
    await clients.send({ apiKey, ip: buyer.ip, logged })
    await sleep(PAUSE_MS)
  }
}
