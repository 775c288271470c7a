import type { Page } from 'puppeteer-core'
import { request } from 'undici'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { fund } from '../../../server/sandbox/wallets.ts'

/** Behavior of the wallet in the browser. */
export interface Wallet {
  /** Balance in microdollars. */
  readonly usdc: bigint
  /** @defaultValue a new account */
  readonly account?: PrivateKeyAccount
  readonly absent?: boolean
  /** Chain that it stays on, even if asked to switch. */
  readonly chainId?: number
  /** Hash of the first block, if it is not that of the sandbox. */
  readonly genesis?: string
  readonly declines?: boolean
  /** Names under which it announces itself (EIP-6963). @defaultValue it is `ethereum` */
  readonly announced?: readonly string[]
}

const CHAIN_ID = 8_453
const DECLINED = 4_001

/** Injects a wallet (EIP-1193) into a page; it signs and reads the sandbox chain. */
export async function injectWallet(page: Page, rpcUrl: string, wallet: Wallet) {
  const { account = privateKeyToAccount(generatePrivateKey()) } = wallet
  if (wallet.usdc > 0n) await fund(rpcUrl, account.address, { usdc: wallet.usdc })
  const counts = { signed: 0, address: account.address }
  const chain = async (method: string, params: unknown) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const response = await request(rpcUrl, { method: 'POST', headers, body })
    return ((await response.body.json()) as { result: unknown }).result
  }
  const methods: Readonly<Record<string, (params: unknown[]) => unknown>> = {
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => `0x${(wallet.chainId ?? CHAIN_ID).toString(16)}`,
    wallet_switchEthereumChain: () => null,
    eth_getBlockByNumber: (params) =>
      wallet.genesis ? { hash: wallet.genesis } : chain('eth_getBlockByNumber', params),
    eth_call: (params) => chain('eth_call', params),
    personal_sign: async ([message]) => {
      if (wallet.declines) return { code: DECLINED }
      counts.signed++
      return account.signMessage({ message: { raw: message as `0x${string}` } })
    },
    eth_signTypedData_v4: async ([, typed]) => {
      if (wallet.declines) return { code: DECLINED }
      const signature = await account.signTypedData(JSON.parse(String(typed)))
      counts.signed++
      return signature
    },
  }
  if (wallet.absent) return counts
  await page.exposeFunction('callWallet', (method: string, params: unknown[]) =>
    methods[method]?.(params ?? []),
  )
  await page.evaluateOnNewDocument(`
    const walletNamed = (name) => ({
      async request({ method, params }) {
        sessionStorage.used = name
        const result = await globalThis.callWallet(method, params)
        if (result?.code) throw Object.assign(new Error('declined'), result)
        return result
      },
    })
    const names = ${JSON.stringify(wallet.announced ?? [])}
    if (names.length === 0) globalThis.ethereum = walletNamed('ethereum')
    addEventListener('eip6963:requestProvider', () => {
      for (const name of names) {
        const detail = { info: { uuid: name, name }, provider: walletNamed(name) }
        dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
      }
    })`)
  return counts
}
