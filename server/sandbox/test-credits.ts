import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSellerPayment } from '../../core/client/pay.ts'
import { Fault } from '../../core/errors.ts'
import type { Money } from '../boot/options.ts'
import type { TopupOrder } from '../rest/account/topups.ts'
import type { InProcessApi } from '../rest/in-process.ts'

const ROUTE = 'POST /v1/topups'

/** Buys test credits for a key: a new wallet receives test money and pays as any other would. */
export const payTestCredits =
  (faucet: NonNullable<Money['faucet']>, baseUrl: () => string) =>
  async (api: InProcessApi, order: TopupOrder): Promise<void> => {
    const offered = await api(ROUTE, { body: order }).catch((error: unknown) => error)
    if (!(offered instanceof Error)) return // it was paid before
    if (!(offered instanceof Fault) || offered.code !== 'payment_required') throw offered
    const account = privateKeyToAccount(generatePrivateKey())
    const amount = BigInt(order.amount_microdollars)
    await faucet(account.address, amount)
    const headers = Object.fromEntries(
      Object.entries(offered.headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const limit = { host: new URL(baseUrl()).hostname, maxAmount: amount }
    const offer = { headers, bytes: Buffer.from('{}') }
    const payment = await createSellerPayment(account, offer, limit)
    await api(ROUTE, { body: order, headers: payment.header })
  }
