import type { PoolClient } from 'pg'
import { currentPrices } from '../../../../core/catalog/upstreams/prices.ts'
import { inputFault } from '../../input-errors.ts'
import { assertMeterable, assertUsageReadable, type MeteredEndpoint } from './metered-field.ts'

interface EndpointOrder extends MeteredEndpoint {
  readonly method: string
  readonly path: string
}

/**
 * Checks orders that change only the unit of a price, or end it, against the price they keep.
 * @throws Fault `validation_failed` if there is none, it covers no unit, or it would stay metered
 */
export async function assertPriced(
  client: PoolClient,
  slug: string,
  orders: readonly EndpointOrder[],
): Promise<void> {
  if (!orders.some(keepsAmount)) return
  const pricesOf = await readPrices(client, slug)
  for (const [i, order] of orders.entries()) {
    if (!keepsAmount(order)) continue
    const at = `/endpoints/${i}`
    const last = pricesOf(order).at(-1)
    if (order.metered) {
      if (!last) throw inputFault(`${at}/price_microdollars`, 'is the maximum, which is required')
      assertMeterable({ ...order, price_microdollars: Number(last.amount) }, at)
    } else if (last?.metered)
      throw inputFault(`${at}/price_microdollars`, 'is required to end a metered price')
  }
}

/**
 * Checks that the usage can be read for every price that is in effect or announced, because one
 * that an order does not name may stay.
 * @throws Fault `validation_failed`
 */
export async function assertReadable(
  client: PoolClient,
  slug: string,
  orders: readonly EndpointOrder[],
): Promise<void> {
  const pricesOf = await readPrices(client, slug)
  for (const [i, order] of orders.entries()) {
    for (const { metered } of pricesOf(order))
      assertUsageReadable(order, metered?.pointer, `/endpoints/${i}`)
  }
}

const keepsAmount = ({ metered, price_microdollars: price }: EndpointOrder): boolean =>
  price === undefined && metered !== undefined

/** Reads the prices of endpoints in effect and announced, in this order. */
async function readPrices(client: PoolClient, slug: string) {
  const prices = await currentPrices(client, slug)
  return ({ method, path }: EndpointOrder) =>
    prices
      .filter((each) => each.method === method && each.path === path)
      .flatMap(({ amount, metered, coming }) => [
        ...(amount === null ? [] : [{ amount, metered }]),
        ...(coming ? [coming] : []),
      ])
}
