import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { secp256k1 } from '@noble/curves/secp256k1'
import { hashTypedData, hexToBigInt, hexToNumber, keccak256, serializeTransaction } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../../core/payments/chain/asset.ts'

/** Faults that a signer can have. */
export type SignerFault =
  | 'none'
  | 'slow'
  | 'refuses'
  | 'garbage'
  | 'too long'
  | 'status 500'
  | 'hangs up'
  | 'other key'
  | 'other payment'

export interface SignerServer {
  readonly url: string
  /** Methods that were called. */
  readonly calls: string[]
  fault: SignerFault
  close(): void
}

const OTHER_KEY: Hex = `0x${'7'.repeat(63)}1`

type Answer = (name: string, body: never, key: Hex, fault: SignerFault) => unknown

async function serveSigner(
  key: Hex,
  nameOf: (request: IncomingMessage, body: { method?: string }) => string,
  answer: Answer,
  tls?: { readonly key: string; readonly cert: string },
): Promise<SignerServer> {
  const state = { calls: [] as string[], fault: 'none' as SignerFault }
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const parts = await request.toArray()
    const body = JSON.parse(Buffer.concat(parts).toString())
    const name = nameOf(request, body)
    state.calls.push(name)
    const { fault } = state
    if (fault === 'slow') return
    if (fault === 'hangs up') return void request.socket.destroy()
    if (fault === 'garbage') return void response.end('<html>')
    if (fault === 'status 500') return void response.writeHead(500).end('{}')
    const signing = fault === 'other key' ? OTHER_KEY : key
    const { status = 200, ...members } = answer(name, body as never, signing, fault) as {
      status?: number
    }
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
    response.end(JSON.stringify(members))
  }
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void handle(request, response)
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `http${tls ? 's' : ''}://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
}

/** Member that makes a valid response too long. */
const PADDING = { padding: 'x'.repeat(200_000) }

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params: readonly never[]
}

/** Server that speaks the JSON-RPC API of Web3Signer. */
export const serveWeb3Signer = (
  key: Hex,
  tls?: { readonly key: string; readonly cert: string },
): Promise<SignerServer> => serveSigner(key, (_, { method = '' }) => method, answerRpc, tls)

function answerRpc(_: string, { id, method, params }: RpcCall, key: Hex, fault: SignerFault) {
  if (fault === 'refuses') {
    return { jsonrpc: '2.0', id, error: { code: -32_000, message: 'not an unlocked account' } }
  }
  const account = privateKeyToAccount(key)
  const result = rpcResult(account, key, method, params, fault)
  return { jsonrpc: '2.0', id, result, ...(fault === 'too long' && PADDING) }
}

function rpcResult(
  account: PrivateKeyAccount,
  key: Hex,
  method: string,
  params: readonly never[],
  fault: SignerFault,
) {
  const isChanged = fault === 'other payment'
  if (method === 'eth_accounts') return [account.address.toLowerCase()]
  if (method === 'eth_signTypedData') {
    const data = JSON.parse(params[1]!)
    if (isChanged) data.message.value = '1'
    const { r, s, recovery } = signHash(hashTypedData(data), key)
    return `0x${hex32(r)}${hex32(s)}${(27 + recovery).toString(16)}`
  }
  const order = params[0]! as Record<string, Hex>
  const unsigned = {
    type: 'eip1559',
    chainId: 8453,
    to: order['to']!,
    data: order['data']!,
    value: hexToBigInt(order['value']!) + (isChanged ? 1n : 0n),
    nonce: hexToNumber(order['nonce']!),
    gas: hexToBigInt(order['gas']!),
    maxFeePerGas: hexToBigInt(order['maxFeePerGas']!),
    maxPriorityFeePerGas: hexToBigInt(order['maxPriorityFeePerGas']!),
  } as const
  const { r, s, recovery } = signHash(keccak256(serializeTransaction(unsigned)), key)
  const signature = { r: `0x${hex32(r)}`, s: `0x${hex32(s)}`, yParity: recovery } as const
  return serializeTransaction(unsigned, signature)
}

const signHash = (hash: Hex, key: Hex) => secp256k1.sign(hash.slice(2), key.slice(2))

const hex32 = (value: bigint): string => value.toString(16).padStart(64, '0')

/** Start of a secp256k1 public key in SPKI (DER); an uncompressed point follows. */
const SPKI = '3056301006072a8648ce3d020106052b8104000a034200'

/** Server that speaks the JSON protocol of AWS KMS for one key. Signatures have a high `s`. */
export const serveKms = (key: Hex): Promise<SignerServer> =>
  serveSigner(
    key,
    ({ headers }) => String(headers['x-amz-target']).replace('TrentService.', ''),
    (name, { KeyId, Message }: { KeyId: string; Message: string }, signing, fault) => {
      if (fault === 'refuses') {
        return { status: 400, __type: 'AccessDeniedException', message: 'not authorized to Sign' }
      }
      if (fault === 'too long') return PADDING // and without a signature
      if (name === 'GetPublicKey') {
        const point = Buffer.from(secp256k1.getPublicKey(signing.slice(2), false)).toString('hex')
        return { KeyId, PublicKey: Buffer.from(SPKI + point, 'hex').toString('base64') }
      }
      const digest = Buffer.from(Message, 'base64')
      if (fault === 'other payment') digest[0]! ^= 1
      const { r, s } = secp256k1.sign(digest, signing.slice(2), { extraEntropy: true })
      const high = new secp256k1.Signature(r, secp256k1.CURVE.n - s)
      const der = Buffer.from(high.toDERHex(), 'hex')
      return { KeyId, Signature: der.toString('base64'), SigningAlgorithm: 'ECDSA_SHA_256' }
    },
  )
