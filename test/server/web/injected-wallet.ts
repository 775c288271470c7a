import type { Page } from 'puppeteer-core'
import { request } from 'undici'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { fund } from '../../../server/sandbox/wallets.ts'

/** What the wallet in the browser is like. */
export interface Wallet {
  /** What it has, in microdollars. */
  readonly usdc: bigint
  /** @defaultValue a new one */
  readonly account?: PrivateKeyAccount
  readonly absent?: boolean
  /** Where it stays, whatever it is asked. */
  readonly chainId?: number
  /** Of the chain that it knows, if it is another one. */
  readonly genesis?: string
  readonly declines?: boolean
}

const CHAIN_ID = 8_453
const DECLINED = 4_001

/** Puts a wallet (EIP-1193) into a page; it signs, and reads the local chain. */
export async function injectWallet(page: Page, rpcUrl: string, wallet: Wallet) {
  const { account = privateKeyToAccount(generatePrivateKey()) } = wallet
  if (wallet.usdc > 0n) await fund(rpcUrl, account.address, { usdc: wallet.usdc })
  const counts = { signed: 0, address: account.address }
  const chain = async (method: string, params: unknown) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const answer = await request(rpcUrl, { method: 'POST', headers, body })
    return ((await answer.body.json()) as { result: unknown }).result
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
  await page.exposeFunction('askWallet', (method: string, params: unknown[]) =>
    methods[method]?.(params ?? []),
  )
  await page.evaluateOnNewDocument(`
    globalThis.ethereum = {
      async request({ method, params }) {
        const answer = await globalThis.askWallet(method, params)
        if (answer?.code) throw Object.assign(new Error('declined'), answer)
        return answer
      },
    }`)
  return counts
}
