import { randomBytes, randomUUID } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeFunctionData } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import contracts from './contracts/contracts.artifact.json' with { type: 'json' }
import { callRpc } from './rpc.ts'

/** Treasury receives, spend pays sellers, gas sends transactions; then the samples' wallets. */
export const WALLETS = ['treasury', 'spend', 'gas', 'seller', 'agent'] as const
/** File of the data directory with the keys. */
export const WALLETS_FILE = 'sandbox-wallets.json'
export type WalletName = (typeof WALLETS)[number]

export interface Wallet {
  readonly key: Hex
  readonly account: PrivateKeyAccount
}
export type Wallets = Readonly<Record<WalletName, Wallet>>

/**
 * Opens the sandbox's wallets. Created at random the first time and stored in
 * `<dataDir>/sandbox-wallets.json`, readable to the owner only. Their signatures would be valid on
 * Base itself: never send real money to them.
 * @throws Error if the file is not readable as written by this function
 */
export async function openWallets(dataDir: string): Promise<Wallets> {
  await mkdir(dataDir, { recursive: true })
  const file = join(dataDir, WALLETS_FILE)
  const stored = await readKeys(file)
  const keys = stored ?? (await createKeys(file))
  return Object.fromEntries(
    WALLETS.map((name) => [name, { key: keys[name], account: privateKeyToAccount(keys[name]) }]),
  ) as Record<WalletName, Wallet>
}

type Keys = Record<WalletName, Hex>

async function readKeys(file: string): Promise<Keys | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  await chmod(file, 0o600)
  return parseKeys(text, file)
}

function parseKeys(text: string, file: string): Keys {
  const refuse = (cause?: unknown): never => {
    throw new Error(`The sandbox wallets in ${file} are unreadable. Move the file away.`, { cause })
  }
  let keys: Partial<Record<string, unknown>> = {}
  try {
    keys = JSON.parse(text) ?? {}
  } catch (error) {
    refuse(error)
  }
  for (const name of WALLETS) {
    if (!/^0x[0-9a-f]{64}$/.test(String(keys[name]))) refuse()
  }
  return keys as Keys
}

/** Creates the key file by linking, which fails if it exists: of two processes, one wins. */
async function createKeys(file: string): Promise<Keys> {
  const keys = Object.fromEntries(WALLETS.map((name) => [name, generatePrivateKey()]))
  const part = `${file}.${randomUUID()}`
  await writeFile(part, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await link(part, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(part)
  return parseKeys(await readFile(file, 'utf8'), file)
}

const ETH = 10n ** 18n
const MINED_MS = 5_000

export interface Funds {
  /** Test USDC to add, in microdollars. */
  readonly usdc?: bigint
  /** The ETH balance to set, in wei. */
  readonly wei?: bigint
}

/** Sends test money and waits until it is mined. @throws Error if that takes more than 5 s */
export async function fund(
  rpcUrl: string,
  address: Hex,
  { usdc, wei }: Funds,
  token: Hex = USDC_BASE.address,
): Promise<void> {
  if (wei !== undefined) await callRpc(rpcUrl, 'anvil_setBalance', [address, hex(wei)])
  if (usdc === undefined) return
  // A new address that the local chain impersonates, so that concurrent mints do not share a
  // transaction number.
  const from: Hex = `0x${randomBytes(20).toString('hex')}`
  await callRpc(rpcUrl, 'anvil_setBalance', [from, hex(ETH)])
  await callRpc(rpcUrl, 'anvil_impersonateAccount', [from])
  const data = encodeFunctionData({
    abi: contracts.DevUSDC.abi,
    functionName: 'mint',
    args: [address, usdc],
  })
  const transaction = { from, to: token, data, gas: hex(200_000n) }
  const hash = await callRpc(rpcUrl, 'eth_sendTransaction', [transaction])
  const deadline = elapsedMs() + MINED_MS
  while ((await callRpc(rpcUrl, 'eth_getTransactionReceipt', [hash])) === null) {
    if (elapsedMs() > deadline) throw new Error(`the mint ${String(hash)} was not mined in 5 s`)
    await sleep(5)
  }
}

const hex = (amount: bigint): Hex => `0x${amount.toString(16)}`
