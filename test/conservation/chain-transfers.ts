import { x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import { decodeFunctionData, isAddressEqual } from 'viem'
import { type Asset, type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'

/** Token transfer on the chain. */
export interface Transfer {
  readonly tx: Hex
  readonly from: Hex
  readonly to: Hex
  readonly amount: bigint
  /** Nonce of the authorization, or number of the permit, that it used; undefined for a mint. */
  readonly nonce: Hex | undefined
}

interface Log {
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex
  readonly logIndex: Hex
}

/** Event topics of ERC-20 (Transfer) and EIP-3009 (AuthorizationUsed). */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const BLOCKS = 500

/** Returns all transfers of the token, read from the chain's event log. */
export async function allTransfers(
  rpcUrl: string,
  { address }: Pick<Asset, 'address'> = USDC_BASE,
): Promise<Transfer[]> {
  const rpc = (method: string, ...params: unknown[]) => callRpc(rpcUrl, method, params)
  const head = Number(await rpc('eth_blockNumber'))
  const made: Transfer[] = []
  for (let first = 0; first <= head; first += BLOCKS) {
    const [fromBlock, toBlock] = [hex(first), hex(Math.min(first + BLOCKS - 1, head))]
    const filter = { address, fromBlock, toBlock }
    made.push(...transfersIn((await rpc('eth_getLogs', filter)) as Log[]))
  }
  const withPermit = async (transfer: Transfer): Promise<Transfer> => {
    if (transfer.nonce !== undefined || BigInt(transfer.from) === 0n) return transfer
    const found = (await rpc('eth_getTransactionByHash', transfer.tx)) as Transaction | null
    return { ...transfer, nonce: found ? permitIn(found, transfer.from) : undefined }
  }
  return await Promise.all(made.map(withPermit))
}

interface Transaction {
  readonly to: Hex | null
  readonly input: Hex
}

/** Number of the permit of a payer that a transaction has the proxy of the scheme `upto` settle. */
function permitIn({ to, input: data }: Transaction, payer: Hex): Hex | undefined {
  if (!to || !isAddressEqual(to, x402UptoPermit2ProxyAddress)) return undefined
  const { functionName, args } = decodeFunctionData({ abi: x402UptoPermit2ProxyABI, data })
  if (functionName !== 'settle' && functionName !== 'settleWithPermit') return undefined
  const [permit, owner] = functionName === 'settle' ? [args[0], args[2]] : [args[1], args[3]]
  if (!isAddressEqual(owner, payer)) return undefined
  return `0x${permit.nonce.toString(16).padStart(64, '0')}`
}

/** The log entry of an authorization directly precedes its transfer. */
function transfersIn(logs: readonly Log[]): Transfer[] {
  return logs.flatMap(({ topics, data, transactionHash: tx, logIndex }, n) => {
    const [event, from, to] = topics
    if (event !== TRANSFER || !from || !to) return []
    const before = logs[n - 1]
    const isAuthorized =
      before?.transactionHash === tx &&
      Number(before.logIndex) === Number(logIndex) - 1 &&
      before.topics[0] === USED &&
      before.topics[1] === from
    const nonce = isAuthorized ? before.topics[2] : undefined
    return [{ tx, from: addressIn(from), to: addressIn(to), amount: BigInt(data), nonce }]
  })
}

const hex = (number: number): Hex => `0x${number.toString(16)}`
const addressIn = (topic: Hex): Hex => `0x${topic.slice(-40)}`
