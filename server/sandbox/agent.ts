import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HubClient, HubError } from '../../core/client/index.ts'
import { micros } from '../../core/money.ts'
import type { Wallet } from './wallets.ts'

const CREDITS = micros(5_000_000)

/**
 * An agent for first tries: registered and with five test dollars of credits, both by way of the
 * hub's own doors. Its key is kept in `<dataDir>/sandbox-agent.key`, for the owner only.
 */
export async function firstAgent(dataDir: string, url: string, wallet: Wallet): Promise<string> {
  const file = join(dataDir, 'sandbox-agent.key')
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  const client = new HubClient({ baseUrl: url, wallet: { account: wallet.account, sandbox: true } })
  if (kept !== '' && (await isKnown(client.withKey(kept)))) return kept
  const { client: agent, apiKey } = await client.register()
  await agent.purchase(CREDITS)
  await writeFile(file, `${apiKey}\n`, { mode: 0o600 })
  return apiKey
}

async function isKnown(client: HubClient): Promise<boolean> {
  try {
    await client.balance()
    return true
  } catch (error) {
    if (error instanceof HubError && error.status === 401) return false
    throw error
  }
}
