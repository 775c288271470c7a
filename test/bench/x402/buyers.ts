import { Client } from 'undici'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { elapsedMs, systemClock } from '../../../core/clock.ts'
import { parseOffer } from '../../../core/payments/paying/offer.ts'
import { chooseTerms, type Terms } from '../../../core/payments/paying/terms.ts'
import { signPayment } from '../../../core/payments/paying/x402-client.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import type { Sample } from '../load.ts'

export const PATH = '/proxy/echo/say'
const REQUEST = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ words: 'hello' }),
} as const
/** Funding per buyer, more than it can spend, in microdollars. */
export const FUNDING_MICROS = 8_000_000n
/** Lifetime of a payment, longer than any accepted validity. */
export const LIFETIME_SECONDS = 600n

/** Creates wallets with test USDC. */
export async function createWallets(count: number, rpcUrl: string): Promise<PrivateKeyAccount[]> {
  const buyers = Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()))
  for (const { address } of buyers) await fund(rpcUrl, address, { usdc: FUNDING_MICROS })
  return buyers
}

/** Requests the shop's payment terms. @throws Error if the response is not a payable 402 */
export async function offerOf(server: string, path = PATH): Promise<Terms> {
  const { headers, bytes } = await ask402(server, path)
  const policy = { host: new URL(server).hostname, maxAmount: FUNDING_MICROS, ownWallets: [] }
  return chooseTerms(parseOffer({ headers, body: bytes }), policy)
}

/** Sends the request without payment. @throws Error if the response is not a 402 */
export async function ask402(server: string, path = PATH) {
  const client = connect(server)
  const { statusCode, headers, body } = await client.request({ ...REQUEST, path })
  const bytes = Buffer.from(await body.arrayBuffer())
  await client.close()
  if (statusCode !== 402) throw new Error(`${server} answered ${statusCode}: ${bytes.toString()}`)
  return { headers, bytes }
}

/** Signs the payments of `count` requests, with the buyers in turn, before the clock starts. */
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
 * Sends one paid request per payment over `connections` connections. No request starts after
 * `seconds`.
 * @param proof header that shows that a response was paid for
 */
export async function buy(
  { url: server, proof }: { readonly url: string; readonly proof: string },
  payments: readonly Readonly<Record<string, string>>[],
  connections: number,
  seconds: number,
): Promise<Sample> {
  const clients = Array.from({ length: connections }, () => connect(server))
  const left = payments.values()
  const latencies: number[] = []
  const errors: string[] = []
  const start = elapsedMs()
  const end = start + seconds * 1_000
  const loop = async (client: Client): Promise<void> => {
    for (const payment of left) {
      const before = elapsedMs()
      if (before > end) return
      const error = await once(client, payment, proof)
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

/**
 * Sends one paid request. Returns the fault of the response; undefined if it delivers the result
 * with the proof of its payment.
 */
async function once(
  client: Client,
  payment: Readonly<Record<string, string>>,
  proof: string,
): Promise<string | undefined> {
  const { statusCode, headers, body } = await client.request({
    ...REQUEST,
    path: PATH,
    headers: { ...REQUEST.headers, ...payment },
  })
  const text = await body.text()
  const isDelivered =
    statusCode === 200 && (JSON.parse(text) as { words?: string }).words === 'hello'
  return isDelivered && proof in headers ? undefined : `${statusCode}: ${text}`
}

let networks = 0

/**
 * Each connection has its own network address, like independent clients, because the hub limits
 * requests without a key by network. All of 127.0.0.0/8 is local.
 */
const connect = (server: string): Client =>
  new Client(server, { localAddress: `127.1.${networks++ % 250}.1`, bodyTimeout: 30_000 })
