import { Agent, request } from 'undici'
import { isAddressEqual, numberToHex, parseTransaction } from 'viem'
import { z } from 'zod'
import type { Hex } from '../chain/asset.ts'
import type { RawSignature, RemoteSigner } from './remote-account.ts'

export interface Web3SignerOptions {
  readonly url: string
  /** Contents of the files in `SignerTls`. */
  readonly tls?: {
    readonly ca?: Buffer | undefined
    readonly cert?: Buffer | undefined
    readonly key?: Buffer | undefined
  }
  /** Time limit of a request. @defaultValue 5000 */
  readonly timeoutMs?: number
}

const RESPONSE_BYTES_MAX = 65_536
const SIGNATURE = /^0x([\da-f]{64})([\da-f]{64})[\da-f]{2}$/i

const Hexadecimal = z.string().regex(/^0x[\da-fA-F]*$/)
const Response = z.union([
  z.object({ error: z.object({ message: z.string().max(1_000) }) }),
  z.object({ result: z.unknown() }),
])

/** Signs with Web3Signer, by its JSON-RPC API for execution keys (`web3signer eth1`). */
export function web3Signer({ url, tls, timeoutMs = 5_000 }: Web3SignerOptions): RemoteSigner {
  const dispatcher = new Agent({
    connections: 8,
    connect: { ...tls, timeout: timeoutMs },
    maxResponseSize: RESPONSE_BYTES_MAX,
  })
  let count = 0

  async function ask<T>(method: string, params: readonly unknown[], result: z.ZodType<T>) {
    const id = ++count
    const { statusCode, body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`${method} returned status ${statusCode}`)
    const answer = Response.parse(JSON.parse(text))
    if ('error' in answer) throw new Error(`${method} was refused: ${answer.error.message}`)
    return result.parse(answer.result)
  }

  return {
    async assertKey(address) {
      const accounts = await ask('eth_accounts', [], z.array(Hexadecimal))
      if (accounts.some((each) => isSameAddress(each as Hex, address))) return
      throw new Error(`the signer has no key of ${address}`)
    },
    async signTypedData(address, data) {
      const json = JSON.stringify(data, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      return parseSignature(await ask('eth_signTypedData', [address, json], Hexadecimal))
    },
    async signTransaction(address, transaction) {
      const { to, data = '0x', value = 0n, nonce = 0, gas = 0n } = transaction
      const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = transaction
      const order = {
        from: address,
        to,
        data,
        value: numberToHex(value),
        nonce: numberToHex(nonce),
        gas: numberToHex(gas),
        maxFeePerGas: numberToHex(maxFeePerGas),
        maxPriorityFeePerGas: numberToHex(maxPriorityFeePerGas),
      }
      const raw = await ask('eth_signTransaction', [order], Hexadecimal)
      const { r, s } = parseTransaction(raw as Hex)
      if (!r || !s) throw new Error('eth_signTransaction returned an unsigned transaction')
      return { r: BigInt(r), s: BigInt(s) }
    },
  }
}

const isSameAddress = (a: Hex, b: Hex): boolean => a.length === b.length && isAddressEqual(a, b)

function parseSignature(hex: string): RawSignature {
  const [, r, s] = SIGNATURE.exec(hex) ?? []
  if (r === undefined || s === undefined) throw new Error('returned no signature')
  return { r: BigInt(`0x${r}`), s: BigInt(`0x${s}`) }
}
