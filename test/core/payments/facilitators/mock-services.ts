import type { ServerResponse } from 'node:http'
import type { SettleResponse } from '@x402/core/types'
import { createLog } from '../../../../core/log.ts'
import { type Hex, USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { chainVerified } from '../../../../core/payments/facilitators/chain-verified.ts'
import { httpFacilitator } from '../../../../core/payments/facilitators/http.ts'
import { NETWORK, type Stack, startStack } from '../stack.ts'
import { type Prepared, prepare, type Served, serve, shop } from './fixture.ts'

/** Settles one request; verification is always honest. */
export type Settle = (res: ServerResponse, args: Prepared) => unknown

/** Local facilitator services and the hub that uses them. */
export interface Services {
  readonly stack: Stack
  /** Log lines since `lines.length = 0`. */
  readonly lines: { level: number; facilitator?: string; msg: string }[]
  readonly serve: (...args: Parameters<typeof serve>) => Promise<Served>
  readonly service: (settle: Settle) => Promise<Served>
  readonly watched: (url: string, chain?: Stack['chain']) => ReturnType<typeof chainVerified>
  /** Outcome for a shop of a payment settled by such a service. */
  readonly buy: (
    settle: Settle,
    args?: Prepared,
  ) => Promise<{ readonly outcome: string; readonly tx?: Hex; readonly reason?: string }>
  /** Settles on the chain and returns the transaction. */
  readonly really: (args: Prepared) => Promise<Hex>
  readonly stop: () => Promise<void>
}

/** @param timeoutMs response timeout of the hub; short if no response is to come */
export async function startServices(timeoutMs = 15_000): Promise<Services> {
  const stack = await startStack()
  const closers: (() => void)[] = []
  const lines: Services['lines'] = []
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) })
  const open: Services['serve'] = async (...args) => {
    const served = await serve(...args)
    closers.push(served.close)
    return served
  }
  const service: Services['service'] = (settle) =>
    open(async (body, res, { url }) => {
      const { paymentPayload, paymentRequirements } = body === '' ? {} : JSON.parse(body)
      const args = [paymentPayload, paymentRequirements] as const
      if (url === '/settle') return settle(res, args)
      const { facilitator } = stack
      const asks = url === '/verify' ? facilitator.verify(...args) : facilitator.getSupported()
      return res.end(JSON.stringify(await asks))
    })
  const watched: Services['watched'] = (url, chain = stack.chain) => {
    const timing = { searchMs: 200, pollMs: 20 }
    const witness = { chain, asset: USDC_BASE, name: 'liar.test', log, ...timing }
    return chainVerified(httpFacilitator({ url, timeoutMs }), witness)
  }
  return {
    stack,
    lines,
    serve: open,
    service,
    watched,
    async buy(settle, args) {
      const { url } = await service(settle)
      return shop(stack, watched(url)).settle(...(args ?? (await prepare(stack))))
    },
    really: async (args) => (await stack.facilitator.settle(...args)).transaction as Hex,
    async stop() {
      for (const close of closers) close()
      await stack.stop()
    },
  }
}

export function answer(res: ServerResponse, more: Partial<SettleResponse>, status = 200): void {
  res.statusCode = status
  res.end(JSON.stringify({ success: false, transaction: '', network: NETWORK, ...more }))
}

export const pays = (res: ServerResponse, transaction: string): void =>
  answer(res, { success: true, transaction })
