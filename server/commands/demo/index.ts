import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { elapsedMs } from '../../../core/clock.ts'
import { readConfig } from '../../../core/config.ts'
import { exportLedger } from '../../../core/ledger/export/writer.ts'
import { type TrialBalanceRow, trialBalance } from '../../../core/ledger/trial-balance.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { createLog } from '../../../core/log.ts'
import { decimal, json } from '../../../core/money.ts'
import { defineService, type Plugin, s, usd } from '../../../core/plugin/index.ts'
import type { Parts, RunningHub } from '../../boot/start.ts'
import { startHub } from '../../boot/start.ts'
import { createNarrator, type Write } from './narrator.ts'
import { playStory } from './story.ts'

/** Service that always fails, to show that failures cost nothing. */
export const failingService: Plugin = defineService({
  slug: 'flaky',
  name: 'Flaky',
  category: 'test',
  summary: 'Fails every time, for the sake of the demonstration.',
  provider: 'example',
  endpoints: {
    'POST /try': {
      summary: 'Throws.',
      price: usd('0.01'),
      input: s.object({}),
      handle: () => {
        throw new Error('this service is out of order')
      },
    },
  },
})

/** Plays the whole story in a sandbox of its own. @returns 0 if all went as expected */
export async function demo(
  loadParts: () => Promise<Parts>,
  args: readonly string[],
  write: Write,
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { json: { type: 'boolean' } } })
  const { dataDir: home } = readConfig()
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-demo-'))
  const start = elapsedMs()
  const tell = createNarrator(write)
  tell.chapter('Starting a sandbox: PostgreSQL, a chain with test USDC, a seller, a hub')
  const log = createLog('silent')
  const config = { ...readConfig({}), dataDir, port: 0 }
  const withFailure = async (): Promise<Parts> => {
    const parts = await loadParts()
    return { ...parts, plugins: [...parts.plugins, failingService] }
  }
  const running = await startHub({ config, loadParts: withFailure, log })
  try {
    tell.fact('ready at', `${running.url} after ${Math.round(elapsedMs() - start)} ms`)
    const story = await playStory(running, tell)
    const books = await closeLedger(running, join(home, 'demo'), tell)
    const ok = story.ok && books.ok
    const seconds = ((elapsedMs() - start) / 1_000).toFixed(1)
    const outcome = ok ? 'Everything is as it should be' : 'Something is wrong'
    tell.chapter(`${outcome}, after ${seconds} seconds on this machine`)
    if (values.json === true) {
      const line = {
        ok,
        calls: story.calls,
        charged_microdollars: json(story.charged),
        trial_balance: json(books.total),
        holds_open: books.holdsOpen,
        journal: books.journal,
      }
      write(`${JSON.stringify(line)}\n`)
    }
    return ok ? 0 : 1
  } finally {
    await running.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Prints the trial balance, verifies the ledger and exports the journal for other tools. */
async function closeLedger(
  { hub }: RunningHub,
  folder: string,
  tell: ReturnType<typeof createNarrator>,
) {
  const { pool } = hub
  tell.chapter('Verifying the ledger')
  const rows = await trialBalance(pool)
  const money = rows.filter(({ asset, balance }) => asset === 'USDC' && balance !== 0n)
  tell.table(money.map((row) => [row.account, formatDebit(row)] as const))
  const total = rows.reduce((sum, { balance }) => sum + balance, 0n)
  tell.fact('trial balance', decimal(total))
  const { ok, checks } = await verifyLedger(pool)
  tell.fact('verified', `${checks.filter(({ bad }) => bad === 0n).length} of ${checks.length}`)
  const { rows: holds } = await pool.query<{ open: number }>(
    'SELECT count(*)::integer AS open FROM ledger.open_hold',
  )
  await mkdir(folder, { recursive: true })
  const journal = join(folder, 'journal.hledger')
  await writeFile(journal, exportLedger(pool, 'hledger'))
  await writeFile(join(folder, 'journal.csv'), exportLedger(pool, 'csv'))
  tell.fact('journal', journal)
  const holdsOpen = holds[0]!.open
  return { ok: ok && total === 0n && holdsOpen === 0, total, holdsOpen, journal }
}

/** Formats a balance debit-positive, as accountants read it. */
const formatDebit = ({ balance }: TrialBalanceRow): string => decimal(-balance).padStart(14)
