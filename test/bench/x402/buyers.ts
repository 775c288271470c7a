import { Client, request } from 'undici'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { elapsedMs, systemClock } from '../../../core/clock.ts'
import { chooseTerms, parseOffer, type Terms } from '../../../core/payments/paying/terms.ts'
import { signPayment } from '../../../core/payments/paying/x402-client.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import type { Sample } from '../load.ts'

const PATH = '/proxy/echo/say'
const ASKED = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ words: 'hello' }),
} as const
/** More than any buyer will spend, in microdollars. */
const PURSE = 1_000_000n
/** Longer than any payment may be valid. */
const LIFETIME_SECONDS = 600n

/** Wallets with test USDC. */
export async function gather(count: number, rpcUrl: string): Promise<PrivateKeyAccount[]> {
  const buyers = Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()))
  for (const { address } of buyers) await fund(rpcUrl, address, { usdc: PURSE })
  return buyers
}

/** What the shop asks for. @throws Error when it does not answer with a 402 that can be paid */
export async function offerOf(shop: string, path = PATH): Promise<Terms> {
  const { statusCode, headers, body } = await request(new URL(path, shop), ASKED)
  const bytes = Buffer.from(await body.arrayBuffer())
  if (statusCode !== 402) throw new Error(`${shop} answered ${statusCode}: ${bytes.toString()}`)
  const policy = { host: new URL(shop).hostname, maxAmount: PURSE, ownWallets: [] }
  return chooseTerms(parseOffer({ headers, body: bytes }), policy)
}

/** The payments of so many requests, each buyer's in turn, signed before the clock starts. */
export async function sign(
  buyers: readonly PrivateKeyAccount[],
  terms: Terms,
  count: number,
): Promise<string[]> {
  const payments: string[] = []
  for (let i = 0; i < count; i++) {
    const buyer = buyers[i % buyers.length]!
    const signed = await signPayment(buyer, terms, systemClock.now(), LIFETIME_SECONDS)
    payments.push(signed.header.value)
  }
  return payments
}

/**
 * Makes one paid request for each payment, over so many connections at once. After `seconds` no
 * further one is begun.
 */
export async function buy(
  shop: string,
  payments: readonly string[],
  connections: number,
  seconds: number,
): Promise<Sample> {
  const clients = Array.from({ length: connections }, () => connect(shop))
  const left = payments.values()
  const latencies: number[] = []
  const errors: string[] = []
  const start = elapsedMs()
  const end = start + seconds * 1_000
  const loop = async (client: Client): Promise<void> => {
    for (const payment of left) {
      const before = elapsedMs()
      if (before > end) return
      const error = await once(client, payment)
      latencies.push(elapsedMs() - before)
      if (error !== undefined) errors.push(error)
    }
  }
  await Promise.all(clients.map(loop))
  const took = (elapsedMs() - start) / 1_000
  await Promise.all(clients.map((client) => client.close()))
  const calls = latencies.length - errors.length
  const first = errors[0] === undefined ? {} : { firstError: errors[0] }
  return { latencies, calls, errors: errors.length, ...first, seconds: took }
}

/** What was wrong with the answer: it must be delivered, with the receipt of a settlement. */
async function once(client: Client, payment: string): Promise<string | undefined> {
  const { statusCode, headers, body } = await client.request({
    ...ASKED,
    path: PATH,
    headers: { ...ASKED.headers, 'payment-signature': payment },
  })
  const text = await body.text()
  const isDelivered =
    statusCode === 200 && (JSON.parse(text) as { words?: string }).words === 'hello'
  return isDelivered && 'payment-response' in headers ? undefined : `${statusCode}: ${text}`
}

let networks = 0

/**
 * Each connection comes from a network of its own, as those of strangers do: a hub counts requests
 * without a key by network. All of 127.0.0.0/8 is this machine.
 */
const connect = (shop: string): Client =>
  new Client(shop, { localAddress: `127.1.${networks++ % 250}.1`, bodyTimeout: 30_000 })
