import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HubClient, HubError } from '../../core/client/index.ts'
import { micros } from '../../core/money.ts'
import type { Wallet } from './wallets.ts'

const CREDITS = micros(5_000_000)

/**
 * Registers the sample agent and buys $5 of credits with test money through the public API.
 * @returns the API key, stored for the owner only in `<dataDir>/sandbox-agent.key` and reused
 */
export async function registerFirstAgent(
  dataDir: string,
  url: string,
  wallet: Wallet,
): Promise<string> {
  const file = join(dataDir, 'sandbox-agent.key')
  const storedKey = (await readFile(file, 'utf8').catch(() => '')).trim()
  const client = new HubClient({ baseUrl: url, wallet: { account: wallet.account, sandbox: true } })
  if (storedKey !== '' && (await isKeyValid(client.withKey(storedKey)))) return storedKey
  const { client: agent, apiKey } = await client.register()
  await agent.purchase(CREDITS)
  await writeFile(file, `${apiKey}\n`, { mode: 0o600 })
  return apiKey
}

async function isKeyValid(client: HubClient): Promise<boolean> {
  try {
    await client.balance()
    return true
  } catch (error) {
    if (error instanceof HubError && error.status === 401) return false
    throw error
  }
}
